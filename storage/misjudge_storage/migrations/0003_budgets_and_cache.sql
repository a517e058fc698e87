-- A run keeps the budget in force, a wish to stop that its owner sees, and why it pauses; a log names the reply it
-- holds, a cached one the log that it repeats, and a failed one the wait that was asked for.
ALTER TABLE runs ADD COLUMN budget_json VARCHAR;
ALTER TABLE runs ADD COLUMN stop_requested BOOLEAN DEFAULT false NOT NULL;
ALTER TABLE runs ADD COLUMN note VARCHAR;
ALTER TABLE judge_logs ADD COLUMN reply_key VARCHAR;
ALTER TABLE judge_logs ADD COLUMN cached_from VARCHAR;
ALTER TABLE judge_logs ADD COLUMN retry_after_s FLOAT;

CREATE INDEX judge_logs_by_reply ON judge_logs (reply_key) WHERE reply_key IS NOT NULL;

-- The next cells of a long plan are found without sorting all of it.
CREATE INDEX cells_by_seq ON cells (run_id, seq);

-- All that a run's progress counts of its logs, so that their replies are not read to be skipped.
DROP INDEX judge_logs_by_run;
CREATE INDEX judge_logs_by_run ON judge_logs (
    run_id, role, attempt, error, cached_from, cell_id, input_tokens, output_tokens, est_cost, created_at
);

-- The latest verdicts of an audit, and those that could not be scored.
CREATE INDEX verdicts_by_time ON verdicts (audit_id, created_at);
CREATE INDEX verdicts_unscored ON verdicts (audit_id) WHERE status = 'unscored';
