-- A cell is done by an agent or by a judge; a trajectory that was made here says how, and what became of its world.
ALTER TABLE cells RENAME COLUMN judge_id TO actor_id;
ALTER TABLE trajectories ADD COLUMN seed BIGINT;
ALTER TABLE trajectories ADD COLUMN flags_json VARCHAR;
ALTER TABLE trajectories ADD COLUMN setup_json VARCHAR;
ALTER TABLE trajectories ADD COLUMN changes_json VARCHAR;

-- The latest trajectories of an audit.
CREATE INDEX trajectories_by_time ON trajectories (audit_id, created_at);

-- What a simulated judge of version 3 was known to be: its faults, and that it is simulated, are stored with a run now.
UPDATE runs SET request_json =
    '{"planted":{"position":0.2,"politeness":0.4,"noise":0.05,"lenience":0.6,"seed":7},"simulated":true,'
    || SUBSTR(request_json, 2)
WHERE SUBSTR(request_json, 1, 19) = '{"kind":"simulated"';

-- A run may ask several judges, and agents before them.
UPDATE runs SET request_json = '{"judges":[' || request_json || '],"rollouts":null}';

-- The pairs that a run is to make, each as soon as both of its trajectories are stored.
CREATE TABLE planned_pairs (
    run_id VARCHAR NOT NULL,
    pair_id VARCHAR NOT NULL,
    audit_id VARCHAR NOT NULL,
    task_id VARCHAR NOT NULL,
    trial INTEGER,
    trajectory_a VARCHAR NOT NULL,
    trajectory_b VARCHAR NOT NULL,
    ability_bucket VARCHAR,
    reward_gap FLOAT,
    gap_source VARCHAR,
    content_hash VARCHAR NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (run_id, pair_id),
    FOREIGN KEY(run_id) REFERENCES runs (run_id)
);

CREATE INDEX planned_pairs_by_trajectory_a ON planned_pairs (run_id, trajectory_a);

CREATE INDEX planned_pairs_by_trajectory_b ON planned_pairs (run_id, trajectory_b);
