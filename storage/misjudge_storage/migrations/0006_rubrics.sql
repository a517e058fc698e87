-- A cell may write the rubric of a task, or need one that is written first.
ALTER TABLE cells ADD COLUMN task_id VARCHAR;
ALTER TABLE cells ADD COLUMN draft_id VARCHAR;

CREATE TABLE rubric_sets (
    rubric_id VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (rubric_id)
);

CREATE TABLE rubric_rules (
    rubric_id VARCHAR NOT NULL,
    rule INTEGER NOT NULL,
    text VARCHAR NOT NULL,
    hard BOOLEAN NOT NULL,
    high_level BOOLEAN NOT NULL,
    PRIMARY KEY (rubric_id, rule),
    FOREIGN KEY(rubric_id) REFERENCES rubric_sets (rubric_id)
);

CREATE TABLE rubric_names (
    entry_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    rubric_id VARCHAR NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (entry_id),
    FOREIGN KEY(rubric_id) REFERENCES rubric_sets (rubric_id)
);

CREATE INDEX rubric_names_by_name ON rubric_names (name);

CREATE TABLE task_rubrics (
    audit_id VARCHAR NOT NULL,
    task_id VARCHAR NOT NULL,
    rubric_id VARCHAR NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (audit_id, task_id),
    FOREIGN KEY(audit_id, task_id) REFERENCES tasks (audit_id, task_id),
    FOREIGN KEY(rubric_id) REFERENCES rubric_sets (rubric_id)
);

CREATE TABLE rubric_drafts (
    draft_id VARCHAR NOT NULL,
    audit_id VARCHAR NOT NULL,
    writer_id VARCHAR NOT NULL,
    task_id VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    unscored_reason VARCHAR,
    rubric_id VARCHAR,
    written INTEGER NOT NULL,
    duplicates INTEGER NOT NULL,
    left_out INTEGER NOT NULL,
    split INTEGER NOT NULL,
    compound INTEGER NOT NULL,
    repaired BOOLEAN NOT NULL,
    log_id VARCHAR,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (draft_id),
    FOREIGN KEY(audit_id, writer_id) REFERENCES judges (audit_id, judge_id),
    FOREIGN KEY(audit_id, task_id) REFERENCES tasks (audit_id, task_id),
    FOREIGN KEY(rubric_id) REFERENCES rubric_sets (rubric_id)
);

CREATE INDEX rubric_drafts_by_task ON rubric_drafts (audit_id, task_id, writer_id);
CREATE INDEX rubric_drafts_by_time ON rubric_drafts (audit_id, created_at);
CREATE INDEX rubric_drafts_unscored ON rubric_drafts (audit_id) WHERE status = 'unscored';

CREATE TABLE rubric_matchings (
    matching_id VARCHAR NOT NULL,
    audit_id VARCHAR NOT NULL,
    matcher_id VARCHAR NOT NULL,
    draft_id VARCHAR NOT NULL,
    rubric_id VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    unscored_reason VARCHAR,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (matching_id),
    FOREIGN KEY(audit_id, matcher_id) REFERENCES judges (audit_id, judge_id),
    FOREIGN KEY(draft_id) REFERENCES rubric_drafts (draft_id),
    FOREIGN KEY(rubric_id) REFERENCES rubric_sets (rubric_id)
);

CREATE INDEX rubric_matchings_by_draft ON rubric_matchings (draft_id);
CREATE INDEX rubric_matchings_by_time ON rubric_matchings (audit_id, created_at);
CREATE INDEX rubric_matchings_unscored ON rubric_matchings (audit_id) WHERE status = 'unscored';

CREATE TABLE rubric_matches (
    matching_id VARCHAR NOT NULL,
    rule INTEGER NOT NULL,
    gold_rule INTEGER,
    status VARCHAR NOT NULL,
    unscored_reason VARCHAR,
    method VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    repaired BOOLEAN NOT NULL,
    log_id VARCHAR,
    PRIMARY KEY (matching_id, rule),
    FOREIGN KEY(matching_id) REFERENCES rubric_matchings (matching_id)
);

CREATE TABLE rubric_rulings (
    ruling_id VARCHAR NOT NULL,
    audit_id VARCHAR NOT NULL,
    judge_id VARCHAR NOT NULL,
    rubric_id VARCHAR,
    says VARCHAR,
    conflict VARCHAR,
    left_out INTEGER NOT NULL,
    unscored INTEGER NOT NULL,
    PRIMARY KEY (ruling_id),
    FOREIGN KEY(audit_id, judge_id) REFERENCES judges (audit_id, judge_id),
    FOREIGN KEY(ruling_id) REFERENCES verdicts (verdict_id),
    FOREIGN KEY(rubric_id) REFERENCES rubric_sets (rubric_id)
);

CREATE INDEX rubric_rulings_by_judge ON rubric_rulings (audit_id, judge_id);
CREATE INDEX rubric_rulings_by_rubric ON rubric_rulings (rubric_id);

CREATE TABLE rubric_verdicts (
    ruling_id VARCHAR NOT NULL,
    rule INTEGER NOT NULL,
    met_a BOOLEAN,
    met_b BOOLEAN,
    met BOOLEAN,
    reason VARCHAR NOT NULL,
    PRIMARY KEY (ruling_id, rule),
    FOREIGN KEY(ruling_id) REFERENCES rubric_rulings (ruling_id)
);
