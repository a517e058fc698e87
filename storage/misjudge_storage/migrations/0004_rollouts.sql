-- A cell is done by an agent or by a judge; a trajectory that was made here says how, and what became of its world.
ALTER TABLE cells RENAME COLUMN judge_id TO actor_id;
ALTER TABLE trajectories ADD COLUMN seed BIGINT;
ALTER TABLE trajectories ADD COLUMN trouble VARCHAR;
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

-- Episodes that are made up, so that the views and the marks of an audit find out without a look at any transcript.
CREATE INDEX trajectories_simulated ON trajectories (audit_id, trajectory_id, simulated) WHERE simulated;

-- The views for people's own SQL say what is made up: `simulated` is 1 where the judge or an episode is. Else they are
-- those of version 2.
DROP VIEW audit_pairs;
DROP VIEW pairwise;

-- One row per pair and judge, and one for a pair that no judge saw. Costs are the pair's shares: a trajectory's cost is
-- split evenly over its pairs, and a judge's call that names no judge counts for each judge of its pair.
-- CROSS JOIN keeps SQLite from looping over all verdicts for each pair.
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
        (SELECT j.label FROM judges j WHERE j.audit_id = v.audit_id AND j.judge_id = v.judge_id) AS judge,
        CASE
            WHEN EXISTS (
                SELECT 1 FROM judges j WHERE j.audit_id = v.audit_id AND j.judge_id = v.judge_id AND j.simulated
            ) THEN 1
            WHEN EXISTS (
                SELECT 1 FROM trajectories t
                WHERE t.audit_id = p.audit_id AND t.trajectory_id IN (p.trajectory_a, p.trajectory_b) AND t.simulated
            ) THEN 1
            ELSE 0
        END AS simulated
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
    created_at, simulated
FROM joined;

-- The re-evaluation guide's table: one row per judged order; left is side A, `judge_choice` the letter shown.
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
    v.created_at,
    CASE
        WHEN j.simulated THEN 1
        WHEN EXISTS (
            SELECT 1 FROM trajectories t
            WHERE t.audit_id = p.audit_id AND t.trajectory_id IN (p.trajectory_a, p.trajectory_b) AND t.simulated
        ) THEN 1
        ELSE 0
    END AS simulated
FROM verdicts v
JOIN pairs p ON p.audit_id = v.audit_id AND p.pair_id = v.pair_id
JOIN trajectories a ON a.trajectory_id = p.trajectory_a
JOIN trajectories b ON b.trajectory_id = p.trajectory_b
JOIN pair_gold g ON g.audit_id = v.audit_id AND g.pair_id = v.pair_id
JOIN judges j ON j.audit_id = v.audit_id AND j.judge_id = v.judge_id
WHERE NOT v.reduced;
