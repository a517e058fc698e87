-- A store of version 3, as sqlite3's dump writes it: imported pairs, a run that was stopped, one that was killed while it
-- paused, one of a simulated judge that failed, and one that waits.
BEGIN TRANSACTION;
CREATE TABLE audits (
    audit_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    seed INTEGER NOT NULL,
    secret VARCHAR NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (audit_id),
    UNIQUE (name)
);
INSERT INTO "audits" VALUES('aud_9c74c0d9546f1fb685a2621f','demo',7,'secret of the demo','2026-11-30 04:08:17.300690');
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
INSERT INTO "cells" VALUES('run_b9450156e6864c0f','cell_a93949afe4a79c8198f8f3f2',1,'pairwise','jdg_cf1a090ae9c3e822fd9409fc','p1',NULL,'AB',0);
INSERT INTO "cells" VALUES('run_b9450156e6864c0f','cell_b8942da6915fdbb16063c7da',2,'pairwise','jdg_cf1a090ae9c3e822fd9409fc','p1',NULL,'BA',0);
INSERT INTO "cells" VALUES('run_b9450156e6864c0f','cell_3d7a3b33c14374fafe147cf6',3,'pairwise','jdg_cf1a090ae9c3e822fd9409fc','p2',NULL,'AB',0);
INSERT INTO "cells" VALUES('run_b9450156e6864c0f','cell_3da41f67293a01bf11ed63f0',4,'pairwise','jdg_cf1a090ae9c3e822fd9409fc','p2',NULL,'BA',0);
INSERT INTO "cells" VALUES('run_7b840f02abb14a62','cell_3d7a3b33c14374fafe147cf6',1,'pairwise','jdg_cf1a090ae9c3e822fd9409fc','p2',NULL,'AB',0);
INSERT INTO "cells" VALUES('run_7b840f02abb14a62','cell_3da41f67293a01bf11ed63f0',2,'pairwise','jdg_cf1a090ae9c3e822fd9409fc','p2',NULL,'BA',0);
INSERT INTO "cells" VALUES('run_5c304b88a4964f48','cell_4ddf146bdd1a0a87d7d63589',1,'pairwise','jdg_5c57fae1b662191b8bd63476','p1',NULL,'AB',0);
INSERT INTO "cells" VALUES('run_5c304b88a4964f48','cell_d84f2b12a79a872d42f412d6',2,'pairwise','jdg_5c57fae1b662191b8bd63476','p1',NULL,'BA',0);
INSERT INTO "cells" VALUES('run_a1bdcee9d0a046d3','cell_3d7a3b33c14374fafe147cf6',1,'pairwise','jdg_cf1a090ae9c3e822fd9409fc','p2',NULL,'AB',0);
INSERT INTO "cells" VALUES('run_a1bdcee9d0a046d3','cell_3da41f67293a01bf11ed63f0',2,'pairwise','jdg_cf1a090ae9c3e822fd9409fc','p2',NULL,'BA',0);
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
INSERT INTO "checks" VALUES('chk_b018f5371cae9abc0f37ec27','aud_9c74c0d9546f1fb685a2621f','trj_a623c830738d7f8face05643','verifier check','verifier','outcome',1,NULL,'','chk_dea04860ce627e4b0da9769f','2026-11-30 04:08:17.307036');
INSERT INTO "checks" VALUES('chk_b91d40bfdceb1a1477be336e','aud_9c74c0d9546f1fb685a2621f','trj_380e2f981696f5c8f04080ac','verifier check','verifier','outcome',0,NULL,'','chk_15c5693c754a62ee9420bf91','2026-11-30 04:08:17.310400');
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
INSERT INTO "gold_labels" VALUES('lab_28556f7b975d2adc7fed7768','aud_9c74c0d9546f1fb685a2621f','p1','ann','A','human','lab_cf66b3ca8f2c0f7e1ee74c38','2026-11-30 04:08:17.310474');
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
INSERT INTO "imports" VALUES('imp_1','aud_9c74c0d9546f1fb685a2621f','pairs','pairs.jsonl',2,0,'[]','2026-11-30 04:08:17.327948');
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
    created_at TIMESTAMP WITH TIME ZONE NOT NULL, reply_key VARCHAR, cached_from VARCHAR, retry_after_s FLOAT,
    PRIMARY KEY (log_id),
    FOREIGN KEY(audit_id) REFERENCES audits (audit_id)
);
INSERT INTO "judge_logs" VALUES('log_0995d9b739e6f69429c3fcfc','aud_9c74c0d9546f1fb685a2621f',NULL,NULL,NULL,'trj_a623c830738d7f8face05643',NULL,NULL,'agent','',NULL,NULL,NULL,NULL,NULL,0,1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0.5,NULL,NULL,0,'2026-11-30 04:08:17.310336',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_108507d192c19a656b0baa3c','aud_9c74c0d9546f1fb685a2621f',NULL,NULL,'p1',NULL,'jdg_09cc955cca6644cb6fbc0a6c',NULL,'judge','judge-m',NULL,NULL,NULL,NULL,NULL,0,1,'A',NULL,NULL,NULL,NULL,7,1,NULL,0.25,'imported',NULL,0,'2026-11-30 04:08:17.311519',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_9be75dea4615fab283e485fa','aud_9c74c0d9546f1fb685a2621f',NULL,NULL,'p2',NULL,'jdg_09cc955cca6644cb6fbc0a6c',NULL,'judge','judge-m',NULL,NULL,NULL,NULL,NULL,0,1,'A',NULL,NULL,NULL,NULL,7,1,NULL,0.25,'imported',NULL,0,'2026-11-30 04:08:17.311780',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_0ee9a359ac3148afb27bb9ee','aud_9c74c0d9546f1fb685a2621f','run_b9450156e6864c0f','cell_a93949afe4a79c8198f8f3f2','p1',NULL,'jdg_cf1a090ae9c3e822fd9409fc',NULL,'judge','judge-n',NULL,NULL,NULL,NULL,'AB',0,1,NULL,NULL,NULL,'RateLimited',NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'2026-11-30 04:08:17.335197',NULL,NULL,1.5);
INSERT INTO "judge_logs" VALUES('log_6ea2a4c62aadd1f234195524','aud_9c74c0d9546f1fb685a2621f','run_b9450156e6864c0f','cell_a93949afe4a79c8198f8f3f2','p1',NULL,'jdg_cf1a090ae9c3e822fd9409fc',NULL,'judge','judge-n',NULL,NULL,NULL,NULL,'AB',0,2,'{"winner": "A", "reasons": "done"}',NULL,NULL,NULL,'stop',100,9,NULL,0.125,'misjudge.toml',NULL,0,'2026-11-30 04:08:17.335237','rpl_1',NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_c3a3918c61048baf580c03a3','aud_9c74c0d9546f1fb685a2621f','run_b9450156e6864c0f','cell_b8942da6915fdbb16063c7da','p1',NULL,'jdg_cf1a090ae9c3e822fd9409fc',NULL,'judge','judge-n',NULL,NULL,NULL,NULL,'BA',0,1,'{"winner": "A", "reasons": "done"}',NULL,NULL,NULL,'stop',NULL,NULL,NULL,0.0,NULL,NULL,0,'2026-11-30 04:08:17.335261','rpl_2','log_6ea2a4c62aadd1f234195524',NULL);
INSERT INTO "judge_logs" VALUES('log_84b6b99667b816aab07fbf2d','aud_9c74c0d9546f1fb685a2621f','run_7b840f02abb14a62','cell_3d7a3b33c14374fafe147cf6','p2',NULL,'jdg_cf1a090ae9c3e822fd9409fc',NULL,'judge','judge-n',NULL,NULL,NULL,NULL,'AB',0,1,NULL,NULL,NULL,'Unreachable',NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'2026-11-30 04:08:17.340848',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_4e864fd39d355b0899235f3b','aud_9c74c0d9546f1fb685a2621f','run_5c304b88a4964f48','cell_4ddf146bdd1a0a87d7d63589','p1',NULL,'jdg_5c57fae1b662191b8bd63476',NULL,'judge','simulated-judge',NULL,NULL,NULL,NULL,'AB',0,1,'{"winner": "A", "reasons": "done"}',NULL,NULL,NULL,'stop',100,9,NULL,0.0,'simulated',NULL,1,'2026-11-30 04:08:17.344610','rpl_3',NULL,NULL);
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
INSERT INTO "judges" VALUES('aud_9c74c0d9546f1fb685a2621f','jdg_5e927b8c5c79dceb56ed4fc3','gate','satisfaction','judge-m','{}','','','','1','imported',0.0,1.0,0.8,'higher',0,'2026-11-30 04:08:17.307116');
INSERT INTO "judges" VALUES('aud_9c74c0d9546f1fb685a2621f','jdg_09cc955cca6644cb6fbc0a6c','judge','pairwise','judge-m','{}','','','','1','imported',NULL,NULL,NULL,'higher',0,'2026-11-30 04:08:17.310503');
INSERT INTO "judges" VALUES('aud_9c74c0d9546f1fb685a2621f','jdg_cf1a090ae9c3e822fd9409fc','judge-n','pairwise','judge-n','{"max_tokens":1024,"reply_form":"json","temperature":0}','judge_pair.en.v1','4d865a8528d05ab5','','1','gateway',0.0,5.0,NULL,'higher',0,'2026-11-30 04:08:17.328669');
INSERT INTO "judges" VALUES('aud_9c74c0d9546f1fb685a2621f','jdg_5c57fae1b662191b8bd63476','simulated','pairwise','simulated-judge','{"max_tokens":1024,"planted":{"lenience":0.6,"noise":0.05,"politeness":0.4,"position":0.2,"seed":7},"reply_form":"json","temperature":0}','judge_pair.en.v1','4d865a8528d05ab5','','1','gateway',0.0,5.0,NULL,'higher',1,'2026-11-30 04:08:17.342508');
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
INSERT INTO "pairs" VALUES('aud_9c74c0d9546f1fb685a2621f','p1','t1',NULL,'trj_a623c830738d7f8face05643','trj_380e2f981696f5c8f04080ac',NULL,NULL,NULL,'pr_0d7c456261df9c456369130a','2026-11-30 04:08:17.310452');
INSERT INTO "pairs" VALUES('aud_9c74c0d9546f1fb685a2621f','p2','t1',NULL,'trj_a623c830738d7f8face05643','trj_380e2f981696f5c8f04080ac',NULL,NULL,NULL,'pr_0d7c456261df9c456369130a','2026-11-30 04:08:17.311722');
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
INSERT INTO "run_events" VALUES('76b4dc14867d4f99b0b56de1114d35bf','run_b9450156e6864c0f','warning','cancelled','stopped; resume it to go on','2026-11-30 04:08:17.337747');
INSERT INTO "run_events" VALUES('6876fe5c5f244a21a4aee6b4553faa33','run_5c304b88a4964f48','warning','failed','the disk was full','2026-11-30 04:08:17.346170');
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
    ended_at TIMESTAMP WITH TIME ZONE, budget_json VARCHAR, stop_requested BOOLEAN DEFAULT false NOT NULL, note VARCHAR,
    PRIMARY KEY (run_id),
    FOREIGN KEY(audit_id) REFERENCES audits (audit_id),
    UNIQUE (request_key)
);
INSERT INTO "runs" VALUES('run_b9450156e6864c0f','aud_9c74c0d9546f1fb685a2621f','judge','{"kind":"gateway","model":"judge-n","form":"pairwise","language":"en","profile":null,"temperature":0.0,"max_tokens":1024,"prompt":null,"reply_form":{"kind":"json","pattern":null,"labels":[]},"reuse":false}','nightly','cancelled','stopped; resume it to go on',NULL,'a-host',20607,NULL,1,'2026-11-30 04:08:17.329288','2026-11-30 04:08:17.336786','{"max_calls":10,"max_usd":0.5}',0,NULL);
INSERT INTO "runs" VALUES('run_7b840f02abb14a62','aud_9c74c0d9546f1fb685a2621f','judge','{"kind":"gateway","model":"judge-n","form":"pairwise","language":"en","profile":null,"temperature":0.0,"max_tokens":1024,"prompt":null,"reply_form":{"kind":"json","pattern":null,"labels":[]},"reuse":true}',NULL,'running',NULL,'two','a-host',20607,'2026-11-30 04:08:17.338965',1,'2026-11-30 04:08:17.338965',NULL,NULL,0,'paused until the gateway answers again');
INSERT INTO "runs" VALUES('run_5c304b88a4964f48','aud_9c74c0d9546f1fb685a2621f','judge','{"kind":"simulated","model":"simulated-judge","form":"pairwise","language":"en","profile":null,"temperature":0.0,"max_tokens":1024,"prompt":null,"reply_form":{"kind":"json","pattern":null,"labels":[]},"reuse":false}',NULL,'failed','the disk was full',NULL,'a-host',20607,NULL,1,'2026-11-30 04:08:17.343352','2026-11-30 04:08:17.345837',NULL,0,NULL);
INSERT INTO "runs" VALUES('run_a1bdcee9d0a046d3','aud_9c74c0d9546f1fb685a2621f','judge','{"kind":"gateway","model":"judge-n","form":"pairwise","language":"en","profile":null,"temperature":0.0,"max_tokens":1024,"prompt":null,"reply_form":{"kind":"json","pattern":null,"labels":[]},"reuse":false}',NULL,'queued',NULL,NULL,NULL,NULL,NULL,0,'2026-11-30 04:08:17.347162',NULL,NULL,0,NULL);
CREATE TABLE schema_version (
        number INTEGER PRIMARY KEY, program VARCHAR NOT NULL, applied_at VARCHAR NOT NULL
    );
INSERT INTO "schema_version" VALUES(1,'0.1.0','2026-11-30T04:08:17.279247+00:00');
INSERT INTO "schema_version" VALUES(2,'0.1.0','2026-11-30T04:08:17.282259+00:00');
INSERT INTO "schema_version" VALUES(3,'0.1.0','2026-11-30T04:08:17.295538+00:00');
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
INSERT INTO "tasks" VALUES('aud_9c74c0d9546f1fb685a2621f','t1','Book a table.','','',NULL,NULL,NULL,'tsk_e90b30c7bb4858e2bad33ec1','2026-11-30 04:08:17.306868');
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
INSERT INTO "trajectories" VALUES('trj_a623c830738d7f8face05643','aud_9c74c0d9546f1fb685a2621f','t1','x',0,'[{"content":"hi","role":"user"},{"content":"done","role":"assistant"}]',1,NULL,NULL,NULL,NULL,0,'2026-11-30 04:08:17.307001');
INSERT INTO "trajectories" VALUES('trj_380e2f981696f5c8f04080ac','aud_9c74c0d9546f1fb685a2621f','t1','y',0,'[{"content":"hi","role":"user"},{"content":"no","role":"assistant"}]',1,NULL,NULL,NULL,NULL,0,'2026-11-30 04:08:17.310377');
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
INSERT INTO "verdicts" VALUES('cell_79483a9919141c88d8b8b86c','aud_9c74c0d9546f1fb685a2621f','jdg_5e927b8c5c79dceb56ed4fc3',NULL,'trj_a623c830738d7f8face05643',NULL,0,'scored',NULL,NULL,NULL,0.9,'',NULL,0,0,0,NULL,NULL,'ver_d78482cf2254567429214a69','2026-11-30 04:08:17.310266');
INSERT INTO "verdicts" VALUES('cell_36ffbe3771bbdb3113382f36','aud_9c74c0d9546f1fb685a2621f','jdg_5e927b8c5c79dceb56ed4fc3',NULL,'trj_380e2f981696f5c8f04080ac',NULL,0,'unscored',NULL,NULL,NULL,NULL,'','refused',0,0,0,NULL,NULL,'ver_d8f8a4c80edb8fdcecbf1ed1','2026-11-30 04:08:17.310421');
INSERT INTO "verdicts" VALUES('cell_e33b3efc7e29971008b5c662','aud_9c74c0d9546f1fb685a2621f','jdg_09cc955cca6644cb6fbc0a6c','p1',NULL,'AB',0,'scored','A',NULL,NULL,NULL,'',NULL,0,0,0,NULL,NULL,'ver_ff998e0279e20fa0cf9c098b','2026-11-30 04:08:17.311444');
INSERT INTO "verdicts" VALUES('cell_1f6bf77c3e246c09ddd1c4be','aud_9c74c0d9546f1fb685a2621f','jdg_09cc955cca6644cb6fbc0a6c','p1',NULL,'BA',0,'unscored',NULL,NULL,NULL,NULL,'','parse_error',0,0,0,NULL,NULL,'ver_94ccf71bd616186a3b711b27','2026-11-30 04:08:17.311467');
INSERT INTO "verdicts" VALUES('cell_4ff4e4a55e90b76b8afdc2d4','aud_9c74c0d9546f1fb685a2621f','jdg_09cc955cca6644cb6fbc0a6c','p2',NULL,'AB',0,'scored','B',NULL,NULL,NULL,'',NULL,0,0,0,NULL,NULL,'ver_7b2c0d3651b6386997ef16a3','2026-11-30 04:08:17.311744');
INSERT INTO "verdicts" VALUES('cell_a93949afe4a79c8198f8f3f2','aud_9c74c0d9546f1fb685a2621f','jdg_cf1a090ae9c3e822fd9409fc','p1',NULL,'AB',0,'scored','A',NULL,NULL,NULL,'',NULL,0,0,0,NULL,'log_6ea2a4c62aadd1f234195524','ver_ff998e0279e20fa0cf9c098b','2026-11-30 04:08:17.335306');
INSERT INTO "verdicts" VALUES('cell_b8942da6915fdbb16063c7da','aud_9c74c0d9546f1fb685a2621f','jdg_cf1a090ae9c3e822fd9409fc','p1',NULL,'BA',0,'scored','A',NULL,NULL,NULL,'',NULL,0,0,0,NULL,'log_c3a3918c61048baf580c03a3','ver_ff998e0279e20fa0cf9c098b','2026-11-30 04:08:17.335334');
INSERT INTO "verdicts" VALUES('cell_4ddf146bdd1a0a87d7d63589','aud_9c74c0d9546f1fb685a2621f','jdg_5c57fae1b662191b8bd63476','p1',NULL,'AB',0,'scored','A',NULL,NULL,NULL,'',NULL,0,0,0,NULL,'log_4e864fd39d355b0899235f3b','ver_ff998e0279e20fa0cf9c098b','2026-11-30 04:08:17.344656');
CREATE INDEX judge_logs_by_cell ON judge_logs (cell_id);
CREATE INDEX judge_logs_by_pair ON judge_logs (audit_id, pair_id);
CREATE INDEX judge_logs_by_trajectory ON judge_logs (trajectory_id);
CREATE INDEX checks_by_trajectory ON checks (trajectory_id);
CREATE INDEX pairs_by_trajectory_a ON pairs (trajectory_a);
CREATE INDEX pairs_by_trajectory_b ON pairs (trajectory_b);
CREATE INDEX gold_labels_by_pair ON gold_labels (audit_id, pair_id);
CREATE INDEX verdicts_by_pair ON verdicts (audit_id, pair_id, judge_id);
CREATE INDEX verdicts_by_trajectory ON verdicts (trajectory_id);
CREATE VIEW trajectory_outcomes AS
SELECT
    t.audit_id, t.trajectory_id, t.task_id, t.agent, t.trial, t.base_model,
    CASE WHEN s.passed THEN 1 WHEN NOT s.passed THEN 0 END AS success,
    s.source AS success_source, r.reward,
    CASE WHEN r.source = 'verifier' THEN 'verifier' WHEN r.source IS NOT NULL THEN 'external' END AS reward_source,
    (
        SELECT MAX(c.reward) FROM checks c
        WHERE c.trajectory_id = t.trajectory_id AND c.scope = 'outcome' AND c.source = 'order'
    ) AS order_rank,
    (
        SELECT AVG(v.score) FROM verdicts v
        WHERE v.trajectory_id = t.trajectory_id AND v.judge_id = (
            SELECT j.judge_id FROM judges j
            WHERE j.audit_id = t.audit_id AND j.form = 'satisfaction'
            ORDER BY j.created_at, j.label LIMIT 1
        )
    ) AS user_sat
FROM trajectories t
LEFT JOIN checks s ON s.check_id = (
    SELECT c.check_id FROM checks c
    WHERE c.trajectory_id = t.trajectory_id AND c.scope = 'outcome' AND c.passed IS NOT NULL
        AND c.source IN ('human', 'verifier', 'label', 'reward')
    ORDER BY
        CASE c.source WHEN 'human' THEN 1 WHEN 'verifier' THEN 2 WHEN 'label' THEN 3 ELSE 4 END, c.created_at DESC, c.check_id
    LIMIT 1
)
LEFT JOIN checks r ON r.check_id = (
    SELECT c.check_id FROM checks c
    WHERE c.trajectory_id = t.trajectory_id AND c.scope = 'outcome' AND c.reward IS NOT NULL
        AND c.source IN ('human', 'verifier', 'label', 'reward')
    ORDER BY
        CASE c.source WHEN 'human' THEN 1 WHEN 'verifier' THEN 2 WHEN 'label' THEN 3 ELSE 4 END, c.created_at DESC, c.check_id
    LIMIT 1
);
CREATE VIEW label_votes AS
SELECT
    l.audit_id, l.pair_id, l.source, l.labeller,
    CASE WHEN l.pref = 'A' THEN 1 ELSE 0 END AS a,
    CASE WHEN l.pref = 'B' THEN 1 ELSE 0 END AS b,
    CASE WHEN l.pref = 'tie' THEN 1 ELSE 0 END AS t
FROM gold_labels l
WHERE NOT EXISTS (
    SELECT 1 FROM gold_labels n
    WHERE n.audit_id = l.audit_id AND n.pair_id = l.pair_id AND n.source = l.source AND n.labeller = l.labeller
        AND (n.created_at > l.created_at OR (n.created_at = l.created_at AND n.label_id < l.label_id))
);
CREATE VIEW pair_gold AS
WITH outcomes AS (
    SELECT
        p.audit_id, p.pair_id, a.success AS success_a, b.success AS success_b,
        CASE
            WHEN a.success IS NULL OR b.success IS NULL THEN NULL
            WHEN 'reward' IN (a.success_source, b.success_source) THEN 'reward'
            WHEN 'label' IN (a.success_source, b.success_source) THEN 'label'
            WHEN 'verifier' IN (a.success_source, b.success_source) THEN 'verifier'
            ELSE 'human'
        END AS success_source,
        CASE WHEN a.success > b.success THEN 'A' WHEN a.success < b.success THEN 'B' WHEN a.success = b.success THEN 'tie' END
            AS success_pref,
        a.reward AS reward_a, b.reward AS reward_b,
        CASE
            WHEN a.reward IS NULL OR b.reward IS NULL THEN NULL
            WHEN a.reward_source = 'verifier' AND b.reward_source = 'verifier' THEN 'verifier'
            ELSE 'external'
        END AS reward_source,
        CASE WHEN a.reward > b.reward THEN 'A' WHEN a.reward < b.reward THEN 'B' WHEN a.reward = b.reward THEN 'tie' END
            AS reward_pref,
        (
            SELECT CASE
                WHEN COUNT(*) = 0 THEN NULL
                WHEN SUM(a) > SUM(b) AND SUM(a) > SUM(t) THEN 'A'
                WHEN SUM(b) > SUM(a) AND SUM(b) > SUM(t) THEN 'B'
                WHEN SUM(t) > SUM(a) AND SUM(t) > SUM(b) THEN 'tie'
                ELSE 'split'
            END
            FROM label_votes l
            WHERE l.audit_id = p.audit_id AND l.pair_id = p.pair_id AND l.source = 'human'
        ) AS human,
        (
            SELECT CASE
                WHEN COUNT(*) = 0 THEN NULL
                WHEN SUM(a) > SUM(b) AND SUM(a) > SUM(t) THEN 'A'
                WHEN SUM(b) > SUM(a) AND SUM(b) > SUM(t) THEN 'B'
                WHEN SUM(t) > SUM(a) AND SUM(t) > SUM(b) THEN 'tie'
                ELSE 'split'
            END
            FROM label_votes l
            WHERE l.audit_id = p.audit_id AND l.pair_id = p.pair_id AND l.source = 'label'
        ) AS label
    FROM pairs p
    JOIN trajectory_outcomes a ON a.trajectory_id = p.trajectory_a
    JOIN trajectory_outcomes b ON b.trajectory_id = p.trajectory_b
)
SELECT
    audit_id, pair_id, success_a, success_b, success_source, reward_a, reward_b, reward_source,
    CASE
        WHEN human IS NOT NULL THEN NULLIF(human, 'split')
        WHEN success_source IN ('human', 'verifier') THEN success_pref
        WHEN label IS NOT NULL THEN NULLIF(label, 'split')
        WHEN success_pref IS NOT NULL THEN success_pref
        ELSE reward_pref
    END AS gold_pref,
    CASE
        WHEN human IS NOT NULL THEN 'human'
        WHEN success_source IN ('human', 'verifier') THEN success_source
        WHEN label IS NOT NULL THEN 'label'
        WHEN success_pref IS NOT NULL THEN success_source
        WHEN reward_pref IS NOT NULL THEN 'reward'
    END AS gold_source
FROM outcomes;
CREATE VIEW reduced_verdicts AS
WITH weighted AS (
    SELECT v.*, CASE WHEN v.reduced AND v.status <> 'weak' THEN 2 ELSE 1 END AS weight FROM verdicts v WHERE v.pair_id IS NOT NULL
),
calls AS (
    SELECT
        audit_id, pair_id, judge_id,
        CASE WHEN reduced THEN 'both' ELSE COALESCE(order_shown, 'unknown') END AS shown,
        CASE WHEN winner = 'A' THEN weight WHEN status = 'inconsistent' THEN 1 ELSE 0 END AS a,
        CASE WHEN winner = 'B' THEN weight WHEN status = 'inconsistent' THEN 1 ELSE 0 END AS b,
        CASE WHEN winner = 'tie' THEN weight WHEN status = 'weak' THEN 1 ELSE 0 END AS t,
        CASE WHEN status = 'unscored' THEN weight ELSE 0 END AS u,
        CASE WHEN status = 'weak' THEN 1 ELSE 0 END AS weak,
        unscored_reason,
        CASE WHEN flip THEN 1 WHEN NOT flip THEN 0 END AS flip,
        score_a, score_b,
        created_at
    FROM weighted
),
counts AS (
    SELECT
        audit_id, pair_id, judge_id,
        SUM(a) AS calls_a,
        SUM(b) AS calls_b,
        SUM(t) AS calls_tie,
        SUM(u) AS calls_unscored,
        SUM(CASE WHEN shown = 'AB' THEN a END) AS ab_a,
        SUM(CASE WHEN shown = 'AB' THEN b END) AS ab_b,
        SUM(CASE WHEN shown = 'AB' THEN t END) AS ab_tie,
        SUM(CASE WHEN shown = 'BA' THEN a END) AS ba_a,
        SUM(CASE WHEN shown = 'BA' THEN b END) AS ba_b,
        SUM(CASE WHEN shown = 'BA' THEN t END) AS ba_tie,
        SUM(CASE WHEN shown = 'unknown' THEN a END) AS unknown_a,
        SUM(CASE WHEN shown = 'unknown' THEN b END) AS unknown_b,
        SUM(CASE WHEN shown = 'unknown' THEN t END) AS unknown_tie,
        SUM(CASE WHEN shown = 'both' THEN a END) AS both_a,
        SUM(CASE WHEN shown = 'both' THEN b END) AS both_b,
        SUM(CASE WHEN shown = 'both' THEN t END) AS both_tie,
        MAX(weak) AS weak,
        MIN(unscored_reason) AS unscored_reason,
        MAX(flip) AS flip,
        AVG(score_a) AS score_a,
        AVG(score_b) AS score_b,
        MAX(created_at) AS created_at
    FROM calls
    GROUP BY audit_id, pair_id, judge_id
),
picks AS (
    SELECT
        counts.*,
        CASE
            WHEN ab_a > ab_b THEN 'A'
            WHEN ab_a < ab_b THEN 'B'
            WHEN ab_a > 0 THEN 'inconsistent'
            WHEN ab_a + ab_b + ab_tie > 0 THEN 'tie'
            WHEN ab_a = 0 THEN 'unscored'
        END AS pick_ab,
        CASE
            WHEN ba_a > ba_b THEN 'A'
            WHEN ba_a < ba_b THEN 'B'
            WHEN ba_a > 0 THEN 'inconsistent'
            WHEN ba_a + ba_b + ba_tie > 0 THEN 'tie'
            WHEN ba_a = 0 THEN 'unscored'
        END AS pick_ba,
        CASE
            WHEN unknown_a > unknown_b THEN 'A'
            WHEN unknown_a < unknown_b THEN 'B'
            WHEN unknown_a > 0 THEN 'inconsistent'
            WHEN unknown_a + unknown_b + unknown_tie > 0 THEN 'tie'
            WHEN unknown_a = 0 THEN 'unscored'
        END AS pick_unknown,
        CASE
            WHEN both_a > both_b THEN 'A'
            WHEN both_a < both_b THEN 'B'
            WHEN both_a > 0 THEN 'inconsistent'
            WHEN both_a + both_b + both_tie > 0 THEN 'tie'
            WHEN both_a = 0 THEN 'unscored'
        END AS pick_both
    FROM counts
),
outcomes AS (
    SELECT
        picks.*,
        CASE
            WHEN 'unscored' IN (pick_ab, pick_ba, pick_unknown, pick_both) THEN 'unscored'
            WHEN 'inconsistent' IN (pick_ab, pick_ba, pick_unknown, pick_both) THEN 'inconsistent'
            WHEN 'A' IN (pick_ab, pick_ba, pick_unknown, pick_both) AND 'B' IN (pick_ab, pick_ba, pick_unknown, pick_both)
                THEN 'inconsistent'
            WHEN 'A' IN (pick_ab, pick_ba, pick_unknown, pick_both) THEN 'A'
            WHEN 'B' IN (pick_ab, pick_ba, pick_unknown, pick_both) THEN 'B'
            ELSE 'tie'
        END AS outcome,
        CASE WHEN weak = 1 OR 'tie' IN (pick_ab, pick_ba, pick_unknown, pick_both) THEN 'weak' ELSE 'decided' END AS strength,
        CASE
            WHEN pick_both IS NOT NULL OR (pick_ab IS NOT NULL AND pick_ba IS NOT NULL) THEN 'both'
            WHEN pick_ab IS NOT NULL THEN 'A=left'
            WHEN pick_ba IS NOT NULL THEN 'A=right'
        END AS blind_order
    FROM picks
)
SELECT
    audit_id, pair_id, judge_id,
    CASE WHEN outcome IN ('A', 'B') THEN strength ELSE outcome END AS status,
    CASE WHEN outcome IN ('A', 'B', 'tie') THEN outcome END AS pref,
    CASE
        WHEN outcome = 'unscored' THEN NULL
        WHEN blind_order = 'both' THEN CASE WHEN outcome = 'inconsistent' THEN 1 ELSE 0 END
        ELSE flip
    END AS flip,
    blind_order, calls_a, calls_b, calls_tie, calls_unscored, ab_a, ab_b, ab_tie, ba_a, ba_b, ba_tie,
    CASE WHEN outcome = 'unscored' THEN unscored_reason END AS unscored_reason,
    score_a, score_b,
    created_at
FROM outcomes;
CREATE VIEW trajectory_costs AS
SELECT
    t.audit_id, t.trajectory_id,
    (SELECT COUNT(*) FROM pairs p WHERE p.trajectory_a = t.trajectory_id)
        + (SELECT COUNT(*) FROM pairs p WHERE p.trajectory_b = t.trajectory_id) AS pairs,
    (
        SELECT SUM(l.est_cost) FROM judge_logs l
        WHERE l.trajectory_id = t.trajectory_id AND l.pair_id IS NULL AND l.role = 'agent'
    ) AS agent_cost,
    (
        SELECT SUM(l.est_cost) FROM judge_logs l
        WHERE l.trajectory_id = t.trajectory_id AND l.pair_id IS NULL AND l.role = 'user_sim'
    ) AS user_sim_cost
FROM trajectories t;
CREATE VIEW audit_pairs AS
WITH judged AS (
    SELECT audit_id, pair_id, judge_id, status, pref, flip, blind_order, unscored_reason, score_a, score_b, created_at
    FROM reduced_verdicts
    UNION ALL
    SELECT p.audit_id, p.pair_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, p.created_at
    FROM pairs p
    WHERE NOT EXISTS (SELECT 1 FROM verdicts v WHERE v.audit_id = p.audit_id AND v.pair_id = p.pair_id)
),
joined AS (
    SELECT
        v.*, p.task_id, p.trial, p.ability_bucket, p.reward_gap AS stated_gap, p.gap_source AS stated_gap_source,
        (SELECT t.agent FROM trajectories t WHERE t.trajectory_id = p.trajectory_a) AS agent_a,
        (SELECT t.agent FROM trajectories t WHERE t.trajectory_id = p.trajectory_b) AS agent_b,
        g.success_a, g.success_b, g.success_source, g.gold_pref, g.gold_source,
        CASE WHEN g.reward_source IS NOT NULL THEN g.reward_a WHEN v.score_b IS NOT NULL THEN v.score_a END AS reward_a,
        CASE WHEN g.reward_source IS NOT NULL THEN g.reward_b WHEN v.score_a IS NOT NULL THEN v.score_b END AS reward_b,
        CASE
            WHEN g.reward_source IS NOT NULL THEN g.reward_source
            WHEN v.score_a IS NOT NULL AND v.score_b IS NOT NULL THEN 'judge'
        END AS reward_source,
        (SELECT o.user_sat FROM trajectory_outcomes o WHERE o.trajectory_id = p.trajectory_a) AS user_sat_a,
        (SELECT o.user_sat FROM trajectory_outcomes o WHERE o.trajectory_id = p.trajectory_b) AS user_sat_b,
        (
            SELECT SUM(cost) FROM (
                SELECT l.est_cost AS cost FROM judge_logs l
                WHERE l.audit_id = p.audit_id AND l.pair_id = p.pair_id AND l.role = 'agent'
                UNION ALL
                SELECT c.agent_cost / c.pairs FROM trajectory_costs c WHERE c.trajectory_id IN (p.trajectory_a, p.trajectory_b)
            ) AS costs
        ) AS agent_cost,
        (
            SELECT SUM(cost) FROM (
                SELECT l.est_cost AS cost FROM judge_logs l
                WHERE l.audit_id = p.audit_id AND l.pair_id = p.pair_id AND l.role = 'user_sim'
                UNION ALL
                SELECT c.user_sim_cost / c.pairs FROM trajectory_costs c WHERE c.trajectory_id IN (p.trajectory_a, p.trajectory_b)
            ) AS costs
        ) AS user_sim_cost,
        (
            SELECT SUM(l.est_cost) FROM judge_logs l
            WHERE l.audit_id = p.audit_id AND l.pair_id = p.pair_id AND l.role = 'judge'
                AND (l.judge_id = v.judge_id OR l.judge_id IS NULL)
        ) AS judge_cost,
        (
            SELECT SUM(l.input_tokens) FROM judge_logs l
            WHERE l.audit_id = p.audit_id AND l.pair_id = p.pair_id AND l.role = 'judge'
                AND (l.judge_id = v.judge_id OR l.judge_id IS NULL)
        ) AS input_tokens,
        (
            SELECT SUM(l.output_tokens) FROM judge_logs l
            WHERE l.audit_id = p.audit_id AND l.pair_id = p.pair_id AND l.role = 'judge'
                AND (l.judge_id = v.judge_id OR l.judge_id IS NULL)
        ) AS output_tokens,
        (SELECT j.label FROM judges j WHERE j.audit_id = v.audit_id AND j.judge_id = v.judge_id) AS judge
    FROM judged v
    CROSS JOIN pairs p
    CROSS JOIN pair_gold g
    WHERE p.audit_id = v.audit_id AND p.pair_id = v.pair_id
        AND g.audit_id = p.audit_id AND g.pair_id = p.pair_id
)
SELECT
    pair_id, audit_id, task_id, trial, agent_a, agent_b, success_a, success_b, success_source, gold_pref, gold_source,
    reward_a, reward_b, reward_source, pref AS judge_pref, status AS judge_status, unscored_reason,
    score_a AS judge_score_a, score_b AS judge_score_b, flip AS judge_flip, blind_order,
    COALESCE(stated_gap, ABS(reward_a - reward_b)) AS reward_gap,
    CASE
        WHEN stated_gap IS NOT NULL THEN stated_gap_source
        WHEN reward_source = 'judge' THEN 'judge_score'
        WHEN reward_source IS NOT NULL THEN 'reward'
    END AS gap_source,
    ability_bucket,
    CASE pref WHEN 'A' THEN reward_a WHEN 'B' THEN reward_b END AS selected_reward,
    CASE
        WHEN reward_source IS NULL THEN NULL
        WHEN pref = 'A' THEN CASE WHEN reward_a < reward_b THEN 1 ELSE 0 END
        WHEN pref = 'B' THEN CASE WHEN reward_b < reward_a THEN 1 ELSE 0 END
    END AS lower_reward_selected,
    CASE pref
        WHEN 'A' THEN CASE gold_pref WHEN 'A' THEN 0 WHEN 'B' THEN 1 END
        WHEN 'B' THEN CASE gold_pref WHEN 'B' THEN 0 WHEN 'A' THEN 1 END
    END AS misselected,
    user_sat_a, user_sat_b, input_tokens, output_tokens, agent_cost, user_sim_cost, judge_cost,
    (
        SELECT SUM(cost) FROM (SELECT agent_cost AS cost UNION ALL SELECT user_sim_cost UNION ALL SELECT judge_cost) AS costs
    ) AS total_cost,
    judge, judge_id AS judge_fingerprint,
    created_at
FROM joined;
CREATE VIEW pairwise AS
SELECT
    v.pair_id, v.audit_id, p.task_id, a.agent AS agent_left, b.agent AS agent_right,
    CASE v.order_shown WHEN 'AB' THEN 'A=left' WHEN 'BA' THEN 'A=right' END AS blind_order,
    CASE
        WHEN v.winner = 'tie' OR v.order_shown = 'AB' THEN v.winner
        WHEN v.order_shown = 'BA' THEN CASE v.winner WHEN 'A' THEN 'B' WHEN 'B' THEN 'A' END
    END AS judge_choice,
    g.reward_a AS reward_left, g.reward_b AS reward_right,
    CASE v.winner WHEN 'A' THEN g.reward_a WHEN 'B' THEN g.reward_b END AS selected_reward,
    CASE
        WHEN g.reward_source IS NULL THEN NULL
        WHEN v.winner = 'A' THEN CASE WHEN g.reward_a < g.reward_b THEN 1 ELSE 0 END
        WHEN v.winner = 'B' THEN CASE WHEN g.reward_b < g.reward_a THEN 1 ELSE 0 END
    END AS lower_reward_selected,
    CASE v.winner WHEN 'A' THEN g.success_a WHEN 'B' THEN g.success_b END AS task_success,
    (
        SELECT o.user_sat FROM trajectory_outcomes o
        WHERE o.trajectory_id = CASE v.winner WHEN 'A' THEN p.trajectory_a WHEN 'B' THEN p.trajectory_b END
    ) AS user_sat,
    (
        SELECT SUM(CASE WHEN COALESCE(l.input_tokens, l.output_tokens) IS NOT NULL
            THEN COALESCE(l.input_tokens, 0) + COALESCE(l.output_tokens, 0) END)
        FROM judge_logs l WHERE l.cell_id = v.verdict_id
    ) AS total_tokens,
    (SELECT SUM(l.est_cost) FROM judge_logs l WHERE l.cell_id = v.verdict_id) AS est_cost,
    j.label AS judge, v.repeat,
    v.created_at
FROM verdicts v
JOIN pairs p ON p.audit_id = v.audit_id AND p.pair_id = v.pair_id
JOIN trajectories a ON a.trajectory_id = p.trajectory_a
JOIN trajectories b ON b.trajectory_id = p.trajectory_b
JOIN pair_gold g ON g.audit_id = v.audit_id AND g.pair_id = v.pair_id
JOIN judges j ON j.audit_id = v.audit_id AND j.judge_id = v.judge_id
WHERE NOT v.reduced;
CREATE INDEX judge_logs_by_reply ON judge_logs (reply_key) WHERE reply_key IS NOT NULL;
CREATE INDEX cells_by_seq ON cells (run_id, seq);
CREATE INDEX judge_logs_by_run ON judge_logs (
    run_id, role, attempt, error, cached_from, cell_id, input_tokens, output_tokens, est_cost, created_at
);
CREATE INDEX verdicts_by_time ON verdicts (audit_id, created_at);
CREATE INDEX verdicts_unscored ON verdicts (audit_id) WHERE status = 'unscored';
COMMIT;
