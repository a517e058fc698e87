-- How a label of a reviewer came about: the stream that its pair was drawn from, the inverse of the probability of that,
-- which side was shown first, and by which way it came in. All are null where a label was imported. `review` is the token
-- of the pair that was shown when a reviewer said this of its episode.
ALTER TABLE gold_labels ADD COLUMN stream VARCHAR;
ALTER TABLE gold_labels ADD COLUMN weight FLOAT;
ALTER TABLE gold_labels ADD COLUMN order_shown VARCHAR;
ALTER TABLE gold_labels ADD COLUMN came_by VARCHAR;
ALTER TABLE checks ADD COLUMN stream VARCHAR;
ALTER TABLE checks ADD COLUMN weight FLOAT;
ALTER TABLE checks ADD COLUMN review VARCHAR;

-- Pairs that were given to reviewers, so that two are asked about the same one only where that is wanted.
CREATE TABLE reviews (
    token VARCHAR NOT NULL,
    audit_id VARCHAR NOT NULL,
    pair_id VARCHAR NOT NULL,
    reviewer VARCHAR NOT NULL,
    stream VARCHAR NOT NULL,
    weight FLOAT,
    order_shown VARCHAR NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (token),
    FOREIGN KEY(audit_id, pair_id) REFERENCES pairs (audit_id, pair_id)
);

CREATE INDEX reviews_by_audit ON reviews (audit_id);

-- The labels of people, which a data set may have few of among many of its own.
CREATE INDEX gold_labels_of_people ON gold_labels (audit_id, came_by, labeller, pair_id) WHERE source = 'human';

-- A reviewer who is unsure of what they said before takes it back with a row that says neither yes nor no.
CREATE INDEX checks_taken_back ON checks (trajectory_id, verifier, created_at) WHERE review IS NOT NULL AND passed IS NULL;

-- The checks but those that a reviewer took back since.
CREATE VIEW standing_checks AS
SELECT c.* FROM checks c
WHERE c.source <> 'human' OR NOT EXISTS (
    SELECT 1 FROM checks b
    WHERE b.trajectory_id = c.trajectory_id AND b.verifier = c.verifier AND b.created_at > c.created_at
        AND b.review IS NOT NULL AND b.passed IS NULL
);

-- Success goes by these checks. Else the view is that of version 2, and those that rest on it are as they were.
DROP VIEW audit_pairs;
DROP VIEW pairwise;
DROP VIEW pair_gold;
DROP VIEW trajectory_outcomes;

-- A trajectory's success and reward: the best source that has an answer, the latest row of that source.
-- `user_sat` is the mean score of the audit's first satisfaction judge, so that two scales never mix.
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
    SELECT c.check_id FROM standing_checks c
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

-- What was truly better. Precedence: human, verifier, label, reward; the success of two sides is worth as much as the
-- weaker of its two sources. Labellers among whom no answer leads ('split') leave the pair undecidable.
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
