-- A probe asks a judge about a pair of which something was changed that must not matter; its cell says what.
ALTER TABLE cells ADD COLUMN variant VARCHAR;

-- How what a judge was shown differs from what is stored: names masked, characters left out.
ALTER TABLE judge_logs ADD COLUMN shown_json VARCHAR;

CREATE TABLE probe_verdicts (
    probe_verdict_id VARCHAR NOT NULL,
    audit_id VARCHAR NOT NULL,
    judge_id VARCHAR NOT NULL,
    pair_id VARCHAR NOT NULL,
    probe VARCHAR NOT NULL,
    variant VARCHAR NOT NULL,
    side VARCHAR,
    order_shown VARCHAR NOT NULL,
    repeat INTEGER NOT NULL,
    status VARCHAR NOT NULL,
    winner VARCHAR,
    score_a FLOAT,
    score_b FLOAT,
    reasons VARCHAR NOT NULL,
    unscored_reason VARCHAR,
    repaired BOOLEAN NOT NULL,
    contradicts_scores BOOLEAN NOT NULL,
    log_id VARCHAR,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (probe_verdict_id),
    FOREIGN KEY(audit_id, judge_id) REFERENCES judges (audit_id, judge_id),
    FOREIGN KEY(audit_id, pair_id) REFERENCES pairs (audit_id, pair_id)
);

CREATE INDEX probe_verdicts_by_pair ON probe_verdicts (audit_id, judge_id, pair_id);
CREATE INDEX probe_verdicts_by_time ON probe_verdicts (audit_id, created_at);
CREATE INDEX probe_verdicts_unscored ON probe_verdicts (audit_id) WHERE status = 'unscored';
