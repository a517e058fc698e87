-- When an episode took place, where its source says so: logs of production are read by day or week.
ALTER TABLE trajectories ADD COLUMN occurred_at TIMESTAMP WITH TIME ZONE;

-- All that the verdicts of a pair come to is read from the index alone: ids in no order would mean a look at the table
-- for each verdict.
DROP INDEX verdicts_by_pair;
CREATE INDEX verdicts_by_pair
    ON verdicts (audit_id, pair_id, judge_id, order_shown, reduced, status, winner, score_a, score_b);
