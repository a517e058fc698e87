CREATE TABLE audits (
    audit_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    seed INTEGER NOT NULL,
    secret VARCHAR NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (audit_id),
    UNIQUE (name)
);

CREATE TABLE imports (
    import_id VARCHAR NOT NULL,
    audit_id VARCHAR NOT NULL,
    format VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    records INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    problems_json VARCHAR NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (import_id),
    FOREIGN KEY(audit_id) REFERENCES audits (audit_id)
);

CREATE TABLE judge_logs (
    log_id VARCHAR NOT NULL,
    audit_id VARCHAR NOT NULL,
    run_id VARCHAR,
    cell_id VARCHAR,
    pair_id VARCHAR,
    trajectory_id VARCHAR,
    judge_id VARCHAR,
    turn INTEGER,
    role VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    params VARCHAR,
    prompt_hash VARCHAR,
    prompt_version VARCHAR,
    rendered_hash VARCHAR,
    order_shown VARCHAR,
    repeat INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    raw_output VARCHAR,
    parsed_json VARCHAR,
    unscored_reason VARCHAR,
    error VARCHAR,
    finish_reason VARCHAR,
    input_tokens INTEGER,
    output_tokens INTEGER,
    latency_ms FLOAT,
    est_cost FLOAT,
    price_source VARCHAR,
    request_id VARCHAR,
    simulated BOOLEAN NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (log_id),
    FOREIGN KEY(audit_id) REFERENCES audits (audit_id)
);

CREATE INDEX judge_logs_by_cell ON judge_logs (cell_id);

CREATE INDEX judge_logs_by_pair ON judge_logs (audit_id, pair_id);

CREATE INDEX judge_logs_by_run ON judge_logs (run_id);

CREATE INDEX judge_logs_by_trajectory ON judge_logs (trajectory_id);

CREATE TABLE judges (
    audit_id VARCHAR NOT NULL,
    judge_id VARCHAR NOT NULL,
    label VARCHAR NOT NULL,
    form VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    params VARCHAR NOT NULL,
    prompt_version VARCHAR NOT NULL,
    prompt_hash VARCHAR NOT NULL,
    rubric_hash VARCHAR NOT NULL,
    protocol VARCHAR NOT NULL,
    origin VARCHAR NOT NULL,
    scale_low FLOAT,
    scale_high FLOAT,
    threshold FLOAT,
    better VARCHAR NOT NULL,
    simulated BOOLEAN NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (audit_id, judge_id),
    UNIQUE (audit_id, form, label),
    FOREIGN KEY(audit_id) REFERENCES audits (audit_id)
);

CREATE TABLE runs (
    run_id VARCHAR NOT NULL,
    audit_id VARCHAR NOT NULL,
    operation VARCHAR NOT NULL,
    request_json VARCHAR NOT NULL,
    request_key VARCHAR,
    state VARCHAR NOT NULL,
    reason VARCHAR,
    owner VARCHAR,
    owner_host VARCHAR,
    owner_pid INTEGER,
    lease_until TIMESTAMP WITH TIME ZONE,
    epoch INTEGER NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    PRIMARY KEY (run_id),
    FOREIGN KEY(audit_id) REFERENCES audits (audit_id),
    UNIQUE (request_key)
);

CREATE TABLE tasks (
    audit_id VARCHAR NOT NULL,
    task_id VARCHAR NOT NULL,
    prompt VARCHAR NOT NULL,
    success_criteria VARCHAR NOT NULL,
    hard_constraints VARCHAR NOT NULL,
    category VARCHAR,
    language VARCHAR,
    subset VARCHAR,
    content_hash VARCHAR NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (audit_id, task_id),
    FOREIGN KEY(audit_id) REFERENCES audits (audit_id)
);

CREATE TABLE cells (
    run_id VARCHAR NOT NULL,
    cell_id VARCHAR NOT NULL,
    seq INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    judge_id VARCHAR NOT NULL,
    pair_id VARCHAR,
    trajectory_id VARCHAR,
    order_shown VARCHAR,
    repeat INTEGER NOT NULL,
    PRIMARY KEY (run_id, cell_id),
    FOREIGN KEY(run_id) REFERENCES runs (run_id)
);

CREATE TABLE run_events (
    event_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    level VARCHAR NOT NULL,
    event VARCHAR NOT NULL,
    detail VARCHAR NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (event_id),
    FOREIGN KEY(run_id) REFERENCES runs (run_id)
);

CREATE TABLE trajectories (
    trajectory_id VARCHAR NOT NULL,
    audit_id VARCHAR NOT NULL,
    task_id VARCHAR NOT NULL,
    agent VARCHAR NOT NULL,
    trial INTEGER,
    messages_json VARCHAR,
    turns INTEGER,
    end_reason VARCHAR,
    base_model VARCHAR,
    input_tokens INTEGER,
    output_tokens INTEGER,
    simulated BOOLEAN NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (trajectory_id),
    FOREIGN KEY(audit_id, task_id) REFERENCES tasks (audit_id, task_id),
    UNIQUE (audit_id, task_id, agent, trial)
);

CREATE TABLE checks (
    check_id VARCHAR NOT NULL,
    audit_id VARCHAR NOT NULL,
    trajectory_id VARCHAR NOT NULL,
    verifier VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    scope VARCHAR NOT NULL,
    passed BOOLEAN,
    reward FLOAT,
    evidence VARCHAR NOT NULL,
    content_hash VARCHAR NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (check_id),
    FOREIGN KEY(audit_id) REFERENCES audits (audit_id),
    FOREIGN KEY(trajectory_id) REFERENCES trajectories (trajectory_id)
);

CREATE INDEX checks_by_trajectory ON checks (trajectory_id);

CREATE TABLE pairs (
    audit_id VARCHAR NOT NULL,
    pair_id VARCHAR NOT NULL,
    task_id VARCHAR NOT NULL,
    trial INTEGER,
    trajectory_a VARCHAR NOT NULL,
    trajectory_b VARCHAR NOT NULL,
    ability_bucket VARCHAR,
    reward_gap FLOAT,
    gap_source VARCHAR,
    content_hash VARCHAR NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (audit_id, pair_id),
    FOREIGN KEY(audit_id, task_id) REFERENCES tasks (audit_id, task_id),
    FOREIGN KEY(trajectory_a) REFERENCES trajectories (trajectory_id),
    FOREIGN KEY(trajectory_b) REFERENCES trajectories (trajectory_id)
);

CREATE INDEX pairs_by_trajectory_a ON pairs (trajectory_a);

CREATE INDEX pairs_by_trajectory_b ON pairs (trajectory_b);

CREATE TABLE gold_labels (
    label_id VARCHAR NOT NULL,
    audit_id VARCHAR NOT NULL,
    pair_id VARCHAR NOT NULL,
    labeller VARCHAR NOT NULL,
    pref VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    content_hash VARCHAR NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (label_id),
    FOREIGN KEY(audit_id, pair_id) REFERENCES pairs (audit_id, pair_id)
);

CREATE INDEX gold_labels_by_pair ON gold_labels (audit_id, pair_id);

CREATE TABLE verdicts (
    verdict_id VARCHAR NOT NULL,
    audit_id VARCHAR NOT NULL,
    judge_id VARCHAR NOT NULL,
    pair_id VARCHAR,
    trajectory_id VARCHAR,
    order_shown VARCHAR,
    repeat INTEGER NOT NULL,
    status VARCHAR NOT NULL,
    winner VARCHAR,
    score_a FLOAT,
    score_b FLOAT,
    score FLOAT,
    reasons VARCHAR NOT NULL,
    unscored_reason VARCHAR,
    reduced BOOLEAN NOT NULL,
    repaired BOOLEAN NOT NULL,
    contradicts_scores BOOLEAN NOT NULL,
    flip BOOLEAN,
    log_id VARCHAR,
    content_hash VARCHAR NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (verdict_id),
    FOREIGN KEY(audit_id, judge_id) REFERENCES judges (audit_id, judge_id),
    FOREIGN KEY(audit_id, pair_id) REFERENCES pairs (audit_id, pair_id),
    FOREIGN KEY(trajectory_id) REFERENCES trajectories (trajectory_id)
);

CREATE INDEX verdicts_by_pair ON verdicts (audit_id, pair_id, judge_id);

CREATE INDEX verdicts_by_trajectory ON verdicts (trajectory_id);
