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

CREATE INDEX judge_logs_by_pair ON judge_logs (audit_id, pair_id);

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

CREATE INDEX verdicts_by_pair ON verdicts (audit_id, pair_id);

CREATE INDEX verdicts_by_trajectory ON verdicts (trajectory_id);

-- A trajectory's success and reward: the best source that has an answer, the latest row of that source.
CREATE VIEW trajectory_outcomes AS
WITH answers AS (
    SELECT
        trajectory_id,
        source,
        CASE WHEN passed THEN 1 WHEN NOT passed THEN 0 END AS success,
        reward,
        CASE source WHEN 'human' THEN 1 WHEN 'verifier' THEN 2 WHEN 'label' THEN 3 WHEN 'reward' THEN 4 END AS precedence,
        created_at,
        check_id
    FROM checks
    WHERE scope = 'outcome' AND source <> 'model'
),
successes AS (
    SELECT trajectory_id, success, source,
        ROW_NUMBER() OVER (PARTITION BY trajectory_id ORDER BY precedence, created_at DESC, check_id) AS place
    FROM answers
    WHERE success IS NOT NULL AND precedence IS NOT NULL
),
rewards AS (
    SELECT trajectory_id, reward, source,
        ROW_NUMBER() OVER (PARTITION BY trajectory_id ORDER BY precedence, created_at DESC, check_id) AS place
    FROM answers
    WHERE reward IS NOT NULL AND precedence IS NOT NULL
),
ranks AS (
    SELECT trajectory_id, MAX(reward) AS order_rank FROM answers WHERE source = 'order' GROUP BY trajectory_id
)
SELECT
    t.audit_id,
    t.trajectory_id,
    t.task_id,
    t.agent,
    t.trial,
    t.base_model,
    s.success,
    s.source AS success_source,
    r.reward,
    CASE WHEN r.source IS NULL THEN NULL WHEN r.source = 'verifier' THEN 'verifier' ELSE 'external' END AS reward_source,
    k.order_rank
FROM trajectories t
LEFT JOIN successes s ON s.trajectory_id = t.trajectory_id AND s.place = 1
LEFT JOIN rewards r ON r.trajectory_id = t.trajectory_id AND r.place = 1
LEFT JOIN ranks k ON k.trajectory_id = t.trajectory_id;

-- What was truly better. Precedence: human, verifier, label, reward. Split humans leave the pair undecidable.
CREATE VIEW pair_gold AS
WITH latest AS (
    SELECT audit_id, pair_id, source, pref,
        ROW_NUMBER() OVER (PARTITION BY audit_id, pair_id, source, labeller ORDER BY created_at DESC, label_id) AS place
    FROM gold_labels
),
votes AS (
    SELECT audit_id, pair_id, source,
        SUM(CASE WHEN pref = 'A' THEN 1 ELSE 0 END) AS a,
        SUM(CASE WHEN pref = 'B' THEN 1 ELSE 0 END) AS b,
        SUM(CASE WHEN pref = 'tie' THEN 1 ELSE 0 END) AS t
    FROM latest
    WHERE place = 1
    GROUP BY audit_id, pair_id, source
),
majority AS (
    SELECT audit_id, pair_id, source,
        CASE WHEN a > b AND a > t THEN 'A' WHEN b > a AND b > t THEN 'B' WHEN t > a AND t > b THEN 'tie' END AS pref
    FROM votes
),
outcomes AS (
    SELECT
        p.audit_id,
        p.pair_id,
        a.success AS success_a,
        b.success AS success_b,
        CASE
            WHEN a.success IS NULL OR b.success IS NULL THEN NULL
            WHEN a.success_source = 'label' OR b.success_source = 'label' THEN 'label'
            WHEN a.success_source = 'human' AND b.success_source = 'human' THEN 'human'
            WHEN a.success_source = 'reward' OR b.success_source = 'reward' THEN 'reward'
            ELSE 'verifier'
        END AS success_source,
        CASE WHEN a.success > b.success THEN 'A' WHEN a.success < b.success THEN 'B' WHEN a.success = b.success THEN 'tie' END
            AS success_pref,
        a.reward AS reward_a,
        b.reward AS reward_b,
        CASE
            WHEN a.reward IS NULL OR b.reward IS NULL THEN NULL
            WHEN a.reward_source = 'verifier' AND b.reward_source = 'verifier' THEN 'verifier'
            ELSE 'external'
        END AS reward_source,
        CASE WHEN a.reward > b.reward THEN 'A' WHEN a.reward < b.reward THEN 'B' WHEN a.reward = b.reward THEN 'tie' END
            AS reward_pref
    FROM pairs p
    JOIN trajectory_outcomes a ON a.trajectory_id = p.trajectory_a
    JOIN trajectory_outcomes b ON b.trajectory_id = p.trajectory_b
)
SELECT
    o.audit_id,
    o.pair_id,
    o.success_a,
    o.success_b,
    o.success_source,
    o.reward_a,
    o.reward_b,
    o.reward_source,
    CASE
        WHEN h.pair_id IS NOT NULL THEN h.pref
        WHEN o.success_source IN ('human', 'verifier') THEN o.success_pref
        WHEN l.pair_id IS NOT NULL THEN l.pref
        WHEN o.success_pref IS NOT NULL THEN o.success_pref
        ELSE o.reward_pref
    END AS gold_pref,
    CASE
        WHEN h.pair_id IS NOT NULL THEN 'human'
        WHEN o.success_source IN ('human', 'verifier') THEN o.success_source
        WHEN l.pair_id IS NOT NULL THEN 'label'
        WHEN o.success_pref IS NOT NULL THEN o.success_source
        WHEN o.reward_pref IS NOT NULL THEN 'reward'
    END AS gold_source
FROM outcomes o
LEFT JOIN majority h ON h.audit_id = o.audit_id AND h.pair_id = o.pair_id AND h.source = 'human'
LEFT JOIN majority l ON l.audit_id = o.audit_id AND l.pair_id = o.pair_id AND l.source = 'label';

-- Calls of one judge on one pair in one order: how many said A, B, tie, or nothing usable.
-- A reduced row stands for both orders and counts as two calls.
CREATE VIEW order_verdicts AS
WITH calls AS (
    SELECT
        audit_id,
        pair_id,
        judge_id,
        order_shown,
        CASE WHEN reduced THEN 1 ELSE 0 END AS reduced,
        status,
        winner,
        CASE WHEN status = 'inconsistent' THEN 1 WHEN winner = 'A' AND reduced AND status = 'scored' THEN 2
            WHEN winner = 'A' THEN 1 ELSE 0 END AS a,
        CASE WHEN status = 'inconsistent' THEN 1 WHEN winner = 'B' AND reduced AND status = 'scored' THEN 2
            WHEN winner = 'B' THEN 1 ELSE 0 END AS b,
        CASE WHEN status = 'weak' THEN 1 WHEN winner = 'tie' AND reduced THEN 2 WHEN winner = 'tie' THEN 1 ELSE 0 END AS t,
        CASE WHEN status = 'unscored' AND reduced THEN 2 WHEN status = 'unscored' THEN 1 ELSE 0 END AS u,
        unscored_reason,
        CASE WHEN flip THEN 1 WHEN NOT flip THEN 0 END AS flip,
        score_a,
        score_b,
        created_at
    FROM verdicts
    WHERE pair_id IS NOT NULL
)
SELECT
    audit_id,
    pair_id,
    judge_id,
    order_shown,
    reduced,
    SUM(a) AS a,
    SUM(b) AS b,
    SUM(t) AS t,
    SUM(u) AS u,
    CASE
        WHEN SUM(a) + SUM(b) + SUM(t) = 0 THEN 'unscored'
        WHEN reduced = 1 AND MAX(status) = 'inconsistent' THEN 'inconsistent'
        WHEN SUM(a) > SUM(b) THEN 'A'
        WHEN SUM(b) > SUM(a) THEN 'B'
        ELSE 'tie'
    END AS pick,
    MAX(CASE WHEN status = 'weak' THEN 1 ELSE 0 END) AS weak,
    MIN(unscored_reason) AS unscored_reason,
    MAX(flip) AS flip,
    SUM(score_a) AS sum_a,
    SUM(score_b) AS sum_b,
    COUNT(score_a) AS n_a,
    COUNT(score_b) AS n_b,
    MAX(created_at) AS created_at
FROM calls
GROUP BY audit_id, pair_id, judge_id, order_shown, reduced;

-- The reduced verdict of one judge on one pair.
CREATE VIEW reduced_verdicts AS
WITH merged AS (
    SELECT
        audit_id,
        pair_id,
        judge_id,
        COUNT(*) AS orders,
        SUM(reduced) AS reduced,
        SUM(a) AS calls_a,
        SUM(b) AS calls_b,
        SUM(t) AS calls_tie,
        SUM(u) AS calls_unscored,
        MAX(CASE WHEN pick = 'A' THEN 1 ELSE 0 END) AS has_a,
        MAX(CASE WHEN pick = 'B' THEN 1 ELSE 0 END) AS has_b,
        MAX(CASE WHEN pick = 'tie' THEN 1 ELSE 0 END) AS has_tie,
        MAX(CASE WHEN pick = 'inconsistent' THEN 1 ELSE 0 END) AS has_inconsistent,
        MAX(CASE WHEN pick = 'unscored' THEN 1 ELSE 0 END) AS has_unscored,
        MAX(weak) AS weak,
        MAX(CASE WHEN order_shown = 'AB' THEN pick END) AS pick_ab,
        MAX(CASE WHEN order_shown = 'BA' THEN pick END) AS pick_ba,
        MAX(CASE WHEN order_shown = 'AB' THEN a END) AS ab_a,
        MAX(CASE WHEN order_shown = 'AB' THEN b END) AS ab_b,
        MAX(CASE WHEN order_shown = 'AB' THEN t END) AS ab_tie,
        MAX(CASE WHEN order_shown = 'BA' THEN a END) AS ba_a,
        MAX(CASE WHEN order_shown = 'BA' THEN b END) AS ba_b,
        MAX(CASE WHEN order_shown = 'BA' THEN t END) AS ba_tie,
        MIN(unscored_reason) AS unscored_reason,
        MAX(flip) AS flip,
        CASE WHEN SUM(n_a) > 0 THEN SUM(sum_a) / SUM(n_a) END AS score_a,
        CASE WHEN SUM(n_b) > 0 THEN SUM(sum_b) / SUM(n_b) END AS score_b,
        MAX(created_at) AS created_at
    FROM order_verdicts
    GROUP BY audit_id, pair_id, judge_id
),
named AS (
    SELECT
        merged.*,
        CASE
            WHEN has_unscored = 1 THEN 'unscored'
            WHEN has_inconsistent = 1 OR (has_a = 1 AND has_b = 1) THEN 'inconsistent'
            WHEN (has_a = 1 OR has_b = 1) AND (has_tie = 1 OR weak = 1) THEN 'weak'
            WHEN has_a = 1 OR has_b = 1 THEN 'decided'
            ELSE 'tie'
        END AS status
    FROM merged
)
SELECT
    audit_id,
    pair_id,
    judge_id,
    status,
    CASE WHEN status IN ('decided', 'weak') THEN CASE WHEN has_a = 1 THEN 'A' ELSE 'B' END WHEN status = 'tie' THEN 'tie' END AS pref,
    CASE
        WHEN status = 'unscored' THEN NULL
        WHEN reduced > 0 OR (pick_ab IS NOT NULL AND pick_ba IS NOT NULL) THEN CASE WHEN status = 'inconsistent' THEN 1 ELSE 0 END
        ELSE flip
    END AS flip,
    CASE
        WHEN reduced > 0 OR (pick_ab IS NOT NULL AND pick_ba IS NOT NULL) THEN 'both'
        WHEN pick_ab IS NOT NULL THEN 'A=left'
        WHEN pick_ba IS NOT NULL THEN 'A=right'
    END AS blind_order,
    calls_a,
    calls_b,
    calls_tie,
    calls_unscored,
    ab_a,
    ab_b,
    ab_tie,
    ba_a,
    ba_b,
    ba_tie,
    CASE WHEN status = 'unscored' THEN unscored_reason END AS unscored_reason,
    score_a,
    score_b,
    created_at
FROM named;

-- Costs and tokens of one pair by role; a trajectory's cost is shared by the pairs that use it.
CREATE VIEW pair_costs AS
WITH uses AS (
    SELECT audit_id, pair_id, trajectory_a AS trajectory_id FROM pairs
    UNION ALL
    SELECT audit_id, pair_id, trajectory_b FROM pairs
),
use_counts AS (
    SELECT trajectory_id, COUNT(*) AS pairs FROM uses GROUP BY trajectory_id
),
spent AS (
    SELECT trajectory_id, role, SUM(est_cost) AS cost
    FROM judge_logs
    WHERE trajectory_id IS NOT NULL AND pair_id IS NULL AND role IN ('agent', 'user_sim')
    GROUP BY trajectory_id, role
)
SELECT audit_id, pair_id, role, judge_id, SUM(est_cost) AS cost, SUM(input_tokens) AS input_tokens, SUM(output_tokens) AS output_tokens
FROM judge_logs
WHERE pair_id IS NOT NULL
GROUP BY audit_id, pair_id, role, judge_id
UNION ALL
SELECT u.audit_id, u.pair_id, s.role, NULL, SUM(s.cost / c.pairs), NULL, NULL
FROM uses u
JOIN use_counts c ON c.trajectory_id = u.trajectory_id
JOIN spent s ON s.trajectory_id = u.trajectory_id
GROUP BY u.audit_id, u.pair_id, s.role;

CREATE VIEW audit_pairs AS
WITH satisfaction_judges AS (
    SELECT audit_id, judge_id, ROW_NUMBER() OVER (PARTITION BY audit_id ORDER BY created_at, label, judge_id) AS place
    FROM judges
    WHERE form = 'satisfaction'
),
satisfaction AS (
    SELECT v.trajectory_id, AVG(v.score) AS score
    FROM verdicts v
    JOIN satisfaction_judges j ON j.audit_id = v.audit_id AND j.judge_id = v.judge_id AND j.place = 1
    WHERE v.trajectory_id IS NOT NULL
    GROUP BY v.trajectory_id
),
role_costs AS (
    SELECT audit_id, pair_id,
        SUM(CASE WHEN role = 'agent' THEN cost END) AS agent_cost,
        SUM(CASE WHEN role = 'user_sim' THEN cost END) AS user_sim_cost
    FROM pair_costs
    GROUP BY audit_id, pair_id
),
judge_costs AS (
    SELECT v.audit_id, v.pair_id, v.judge_id,
        SUM(c.cost) AS judge_cost, SUM(c.input_tokens) AS input_tokens, SUM(c.output_tokens) AS output_tokens
    FROM reduced_verdicts v
    JOIN pair_costs c ON c.audit_id = v.audit_id AND c.pair_id = v.pair_id AND c.role = 'judge'
        AND (c.judge_id = v.judge_id OR c.judge_id IS NULL)
    GROUP BY v.audit_id, v.pair_id, v.judge_id
),
joined AS (
    SELECT
        p.pair_id, p.audit_id, p.task_id, p.trial, a.agent AS agent_a, b.agent AS agent_b,
        g.success_a, g.success_b, g.success_source, g.gold_pref, g.gold_source,
        CASE WHEN g.reward_source IS NOT NULL THEN g.reward_a WHEN v.score_b IS NOT NULL THEN v.score_a END AS reward_a,
        CASE WHEN g.reward_source IS NOT NULL THEN g.reward_b WHEN v.score_a IS NOT NULL THEN v.score_b END AS reward_b,
        CASE WHEN g.reward_source IS NOT NULL THEN g.reward_source
            WHEN v.score_a IS NOT NULL AND v.score_b IS NOT NULL THEN 'judge' END AS reward_source,
        v.pref, v.status, v.score_a, v.score_b, v.flip, v.blind_order, v.unscored_reason,
        p.reward_gap AS stated_gap, p.gap_source AS stated_gap_source, p.ability_bucket,
        sa.score AS user_sat_a, sb.score AS user_sat_b,
        jc.input_tokens, jc.output_tokens, rc.agent_cost, rc.user_sim_cost, jc.judge_cost,
        j.label AS judge, j.judge_id AS judge_fingerprint, COALESCE(v.created_at, p.created_at) AS created_at
    FROM pairs p
    JOIN trajectories a ON a.trajectory_id = p.trajectory_a
    JOIN trajectories b ON b.trajectory_id = p.trajectory_b
    JOIN pair_gold g ON g.audit_id = p.audit_id AND g.pair_id = p.pair_id
    LEFT JOIN reduced_verdicts v ON v.audit_id = p.audit_id AND v.pair_id = p.pair_id
    LEFT JOIN judges j ON j.audit_id = v.audit_id AND j.judge_id = v.judge_id
    LEFT JOIN satisfaction sa ON sa.trajectory_id = p.trajectory_a
    LEFT JOIN satisfaction sb ON sb.trajectory_id = p.trajectory_b
    LEFT JOIN role_costs rc ON rc.audit_id = p.audit_id AND rc.pair_id = p.pair_id
    LEFT JOIN judge_costs jc ON jc.audit_id = v.audit_id AND jc.pair_id = v.pair_id AND jc.judge_id = v.judge_id
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
        WHEN reward_a IS NULL OR reward_b IS NULL THEN NULL
        WHEN pref = 'A' THEN CASE WHEN reward_a < reward_b THEN 1 ELSE 0 END
        WHEN pref = 'B' THEN CASE WHEN reward_b < reward_a THEN 1 ELSE 0 END
    END AS lower_reward_selected,
    CASE WHEN gold_pref IN ('A', 'B') AND pref IN ('A', 'B') THEN CASE WHEN pref = gold_pref THEN 0 ELSE 1 END END AS misselected,
    user_sat_a, user_sat_b, input_tokens, output_tokens, agent_cost, user_sim_cost, judge_cost,
    CASE WHEN agent_cost IS NULL AND user_sim_cost IS NULL AND judge_cost IS NULL THEN NULL
        ELSE COALESCE(agent_cost, 0) + COALESCE(user_sim_cost, 0) + COALESCE(judge_cost, 0) END AS total_cost,
    judge, judge_fingerprint, created_at
FROM joined;

-- The re-evaluation guide's table: one row per judged order; left is side A, `judge_choice` the letter shown.
CREATE VIEW pairwise AS
WITH chosen AS (
    SELECT
        v.verdict_id, v.audit_id, v.pair_id, v.judge_id, v.order_shown, v.winner, v.status, v.repeat, v.created_at,
        CASE
            WHEN v.winner = 'tie' THEN 'tie'
            WHEN v.order_shown = 'BA' THEN CASE v.winner WHEN 'A' THEN 'B' WHEN 'B' THEN 'A' END
            WHEN v.order_shown = 'AB' THEN v.winner
        END AS judge_choice,
        CASE v.winner WHEN 'A' THEN p.trajectory_a WHEN 'B' THEN p.trajectory_b END AS selected_id
    FROM verdicts v
    JOIN pairs p ON p.audit_id = v.audit_id AND p.pair_id = v.pair_id
    WHERE NOT v.reduced
),
cell_costs AS (
    SELECT cell_id, SUM(est_cost) AS est_cost, SUM(COALESCE(input_tokens, 0) + COALESCE(output_tokens, 0)) AS total_tokens
    FROM judge_logs
    WHERE cell_id IS NOT NULL
    GROUP BY cell_id
),
satisfaction AS (
    SELECT trajectory_id, AVG(score) AS score FROM verdicts WHERE trajectory_id IS NOT NULL GROUP BY trajectory_id
)
SELECT
    c.pair_id, c.audit_id, p.task_id, a.agent AS agent_left, b.agent AS agent_right,
    CASE c.order_shown WHEN 'AB' THEN 'A=left' WHEN 'BA' THEN 'A=right' END AS blind_order,
    c.judge_choice, g.reward_a AS reward_left, g.reward_b AS reward_right,
    CASE c.winner WHEN 'A' THEN g.reward_a WHEN 'B' THEN g.reward_b END AS selected_reward,
    CASE
        WHEN g.reward_source IS NULL THEN NULL
        WHEN c.winner = 'A' THEN CASE WHEN g.reward_a < g.reward_b THEN 1 ELSE 0 END
        WHEN c.winner = 'B' THEN CASE WHEN g.reward_b < g.reward_a THEN 1 ELSE 0 END
    END AS lower_reward_selected,
    CASE c.winner WHEN 'A' THEN g.success_a WHEN 'B' THEN g.success_b END AS task_success,
    s.score AS user_sat, k.total_tokens, k.est_cost, j.label AS judge, c.repeat, c.created_at
FROM chosen c
JOIN pairs p ON p.audit_id = c.audit_id AND p.pair_id = c.pair_id
JOIN trajectories a ON a.trajectory_id = p.trajectory_a
JOIN trajectories b ON b.trajectory_id = p.trajectory_b
JOIN pair_gold g ON g.audit_id = c.audit_id AND g.pair_id = c.pair_id
JOIN judges j ON j.audit_id = c.audit_id AND j.judge_id = c.judge_id
LEFT JOIN satisfaction s ON s.trajectory_id = c.selected_id
LEFT JOIN cell_costs k ON k.cell_id = c.verdict_id;
