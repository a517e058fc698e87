-- A store of version 7, as sqlite3's dump writes it: imported pairs, a run that was stopped, one that was killed while it
-- paused, one of a simulated judge that failed, one that waits, in an audit of its own two agents that were run live on
-- one task until a limit was reached, a probing of their judge, and pairs judged by rules, which limits ended too, and a
-- session of production whose time is known.
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
INSERT INTO "audits" VALUES('aud_9c74c0d9546f1fb685a2621f','demo',7,'secret of the demo','2026-11-30 14:22:59.939691');
INSERT INTO "audits" VALUES('aud_5111c8236769df788ffd3d1d','live',7,'secret of the live one','2026-11-30 14:22:59.968809');
INSERT INTO "audits" VALUES('aud_ca71db65c0ea72387fdfcf6f','rules',0,'af3347311c6343b30226c9174afdf10e','2026-11-30 14:23:01.784642');
INSERT INTO "audits" VALUES('aud_772e7225518eaddaefe9f6ae','sessions',0,'d41f443d29bfa3f49accf276b7c1198c','2026-11-30 17:28:34.563460');
CREATE TABLE cells (
    run_id VARCHAR NOT NULL,
    cell_id VARCHAR NOT NULL,
    seq INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    actor_id VARCHAR NOT NULL,
    pair_id VARCHAR,
    trajectory_id VARCHAR,
    order_shown VARCHAR,
    repeat INTEGER NOT NULL, variant VARCHAR, task_id VARCHAR, draft_id VARCHAR,
    PRIMARY KEY (run_id, cell_id),
    FOREIGN KEY(run_id) REFERENCES runs (run_id)
);
INSERT INTO "cells" VALUES('run_2f1f008d030a4e61','cell_708b9f118d7c028a8bb3ef56',1,'pairwise','jdg_b1646839edeff31c35be752a','p1',NULL,'AB',0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_2f1f008d030a4e61','cell_eeb361a4b1780bde891932e6',2,'pairwise','jdg_b1646839edeff31c35be752a','p1',NULL,'BA',0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_2f1f008d030a4e61','cell_610eb7831953e0525a4951fe',3,'pairwise','jdg_b1646839edeff31c35be752a','p2',NULL,'AB',0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_2f1f008d030a4e61','cell_e02d6c4d612030baf128a34a',4,'pairwise','jdg_b1646839edeff31c35be752a','p2',NULL,'BA',0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_ffbe939681f34077','cell_610eb7831953e0525a4951fe',1,'pairwise','jdg_b1646839edeff31c35be752a','p2',NULL,'AB',0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_ffbe939681f34077','cell_e02d6c4d612030baf128a34a',2,'pairwise','jdg_b1646839edeff31c35be752a','p2',NULL,'BA',0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_7f5f3e0e7d9b4df7','cell_0379c65906f886e05f390752',1,'pairwise','jdg_71213f83aa1db21e6d615f4f','p1',NULL,'AB',0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_7f5f3e0e7d9b4df7','cell_d823960fa64b672dc82d7905',2,'pairwise','jdg_71213f83aa1db21e6d615f4f','p1',NULL,'BA',0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_c5068a1d15de4dcf','cell_610eb7831953e0525a4951fe',1,'pairwise','jdg_b1646839edeff31c35be752a','p2',NULL,'AB',0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_c5068a1d15de4dcf','cell_e02d6c4d612030baf128a34a',2,'pairwise','jdg_b1646839edeff31c35be752a','p2',NULL,'BA',0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_252792dadc5d479e','trj_7f835d2ac1f7250a77bfb315',1,'rollout','agt_ab0a56fe4095d6273efecf83',NULL,NULL,NULL,0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_252792dadc5d479e','trj_6853163285bd20258a61e388',2,'rollout','agt_4e4da3d5642c312202d3908b',NULL,NULL,NULL,0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_252792dadc5d479e','cell_6bd6df3beee10f843f9a1d20',3,'pairwise','jdg_b1646839edeff31c35be752a','query_boot_size#0:diligent|flaky:0.5',NULL,'AB',0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_252792dadc5d479e','cell_9eeb542044a8d942ac539edc',4,'pairwise','jdg_b1646839edeff31c35be752a','query_boot_size#0:diligent|flaky:0.5',NULL,'BA',0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_0457b2f19b644f54','probe_fb548fb0a3f86d69f61af5f4',1,'probe','jdg_b1646839edeff31c35be752a','query_boot_size#0:diligent|flaky:0.5',NULL,'AB',0,'baseline.en.v1',NULL,NULL);
INSERT INTO "cells" VALUES('run_0457b2f19b644f54','probe_6b698011bb66bb83db004378',2,'probe','jdg_b1646839edeff31c35be752a','query_boot_size#0:diligent|flaky:0.5',NULL,'AB',1,'baseline.en.v1',NULL,NULL);
INSERT INTO "cells" VALUES('run_0457b2f19b644f54','probe_3d855a4440f7b7d6e99eb224',3,'probe','jdg_b1646839edeff31c35be752a','query_boot_size#0:diligent|flaky:0.5',NULL,'AB',0,'padding.en.v1:A',NULL,NULL);
INSERT INTO "cells" VALUES('run_0457b2f19b644f54','probe_19b82945878cf051bf85be5f',4,'probe','jdg_b1646839edeff31c35be752a','query_boot_size#0:diligent|flaky:0.5',NULL,'AB',0,'politeness.en.v1:B',NULL,NULL);
INSERT INTO "cells" VALUES('run_7ea6be166046465a','cell_0c9958a3557e7f54c0957b55',1,'rubric_generate','jdg_9502fd292be8d42ea1f6a8b2',NULL,NULL,NULL,0,NULL,'task of p0',NULL);
INSERT INTO "cells" VALUES('run_7ea6be166046465a','cell_71a6e278a478aff0e8383864',2,'rubric_match','jdg_b14d9fccd933c38eb10068b7',NULL,NULL,NULL,0,NULL,'task of p0','cell_0c9958a3557e7f54c0957b55');
INSERT INTO "cells" VALUES('run_7ea6be166046465a','cell_5563e6f49e15f9592562c281',3,'pairwise','jdg_7388d74ff36fe2ae187a38bd','p0',NULL,'AB',0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_7ea6be166046465a','cell_0935686a152be25c1bf5a2c6',4,'pairwise','jdg_7388d74ff36fe2ae187a38bd','p0',NULL,'BA',0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_7ea6be166046465a','cell_a71fd854a46422f51e32dc6b',5,'pairwise','jdg_f573c1a6e23b1759c014f075','p0',NULL,'AB',0,NULL,NULL,'cell_0c9958a3557e7f54c0957b55');
INSERT INTO "cells" VALUES('run_7ea6be166046465a','cell_5f28805434d1c80d1f5acd9b',6,'pairwise','jdg_f573c1a6e23b1759c014f075','p0',NULL,'BA',0,NULL,NULL,'cell_0c9958a3557e7f54c0957b55');
INSERT INTO "cells" VALUES('run_7ea6be166046465a','cell_6dc33b2e54ed93e9d8820351',7,'pairwise','jdg_359b77bc01f645450ceeaca4','p0',NULL,'AB',0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_7ea6be166046465a','cell_f799618c4c831e7642a5c079',8,'pairwise','jdg_359b77bc01f645450ceeaca4','p0',NULL,'BA',0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_7ea6be166046465a','cell_f9a1668ed88b3a4a60c3e8ff',9,'rubric_generate','jdg_9502fd292be8d42ea1f6a8b2',NULL,NULL,NULL,0,NULL,'task of p1',NULL);
INSERT INTO "cells" VALUES('run_7ea6be166046465a','cell_577666d40c2b272bd40a040b',10,'rubric_match','jdg_b14d9fccd933c38eb10068b7',NULL,NULL,NULL,0,NULL,'task of p1','cell_f9a1668ed88b3a4a60c3e8ff');
INSERT INTO "cells" VALUES('run_7ea6be166046465a','cell_49f296b428cca8404225f74a',11,'pairwise','jdg_7388d74ff36fe2ae187a38bd','p1',NULL,'AB',0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_7ea6be166046465a','cell_a3c605cfd5caafcb681a8158',12,'pairwise','jdg_7388d74ff36fe2ae187a38bd','p1',NULL,'BA',0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_7ea6be166046465a','cell_62a35c1fb4ad8d8d33c0a625',13,'pairwise','jdg_f573c1a6e23b1759c014f075','p1',NULL,'AB',0,NULL,NULL,'cell_f9a1668ed88b3a4a60c3e8ff');
INSERT INTO "cells" VALUES('run_7ea6be166046465a','cell_cb82f0e104639d4b3e11acb8',14,'pairwise','jdg_f573c1a6e23b1759c014f075','p1',NULL,'BA',0,NULL,NULL,'cell_f9a1668ed88b3a4a60c3e8ff');
INSERT INTO "cells" VALUES('run_7ea6be166046465a','cell_0a17ad77c0556f35379bf686',15,'pairwise','jdg_359b77bc01f645450ceeaca4','p1',NULL,'AB',0,NULL,NULL,NULL);
INSERT INTO "cells" VALUES('run_7ea6be166046465a','cell_cb834085a365fafbfccee8bb',16,'pairwise','jdg_359b77bc01f645450ceeaca4','p1',NULL,'BA',0,NULL,NULL,NULL);
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
INSERT INTO "checks" VALUES('chk_b018f5371cae9abc0f37ec27','aud_9c74c0d9546f1fb685a2621f','trj_a623c830738d7f8face05643','verifier check','verifier','outcome',1,NULL,'','chk_dea04860ce627e4b0da9769f','2026-11-30 14:22:59.941031');
INSERT INTO "checks" VALUES('chk_b91d40bfdceb1a1477be336e','aud_9c74c0d9546f1fb685a2621f','trj_380e2f981696f5c8f04080ac','verifier check','verifier','outcome',0,NULL,'','chk_15c5693c754a62ee9420bf91','2026-11-30 14:22:59.943240');
INSERT INTO "checks" VALUES('chk_dcc4427900f2ee27ea2d6b97','aud_5111c8236769df788ffd3d1d','trj_7f835d2ac1f7250a77bfb315','nothing in the world changed','verifier','part',1,NULL,'0 changes, all as expected','chk_dea04860ce627e4b0da9769f','2026-11-30 14:23:01.031496');
INSERT INTO "checks" VALUES('chk_e1e588dbeb91278b4399e1f0','aud_5111c8236769df788ffd3d1d','trj_7f835d2ac1f7250a77bfb315','tool_called: search_products','verifier','part',1,NULL,'called once','chk_dea04860ce627e4b0da9769f','2026-11-30 14:23:01.031505');
INSERT INTO "checks" VALUES('chk_3c267cc130bb932b199571e9','aud_5111c8236769df788ffd3d1d','trj_7f835d2ac1f7250a77bfb315','says: [''2026-03-27'', 154, 43]','verifier','part',1,NULL,'all told','chk_dea04860ce627e4b0da9769f','2026-11-30 14:23:01.031512');
INSERT INTO "checks" VALUES('chk_72c000854ace45b0e552f9fa','aud_5111c8236769df788ffd3d1d','trj_7f835d2ac1f7250a77bfb315','success','verifier','outcome',1,1.0,'3 of 3 rules hold','chk_73cf6278cb8e9e13b4052295','2026-11-30 14:23:01.031523');
INSERT INTO "checks" VALUES('chk_6af3ec2ee2a959d6b4c303ba','aud_5111c8236769df788ffd3d1d','trj_6853163285bd20258a61e388','nothing in the world changed','verifier','part',1,NULL,'0 changes, all as expected','chk_dea04860ce627e4b0da9769f','2026-11-30 14:23:01.031845');
INSERT INTO "checks" VALUES('chk_f462ba20870ebef45a111483','aud_5111c8236769df788ffd3d1d','trj_6853163285bd20258a61e388','tool_called: search_products','verifier','part',1,NULL,'called once','chk_dea04860ce627e4b0da9769f','2026-11-30 14:23:01.031853');
INSERT INTO "checks" VALUES('chk_b443435f7b3f20034b4a6a09','aud_5111c8236769df788ffd3d1d','trj_6853163285bd20258a61e388','says: [''2026-03-27'', 154, 43]','verifier','part',1,NULL,'all told','chk_dea04860ce627e4b0da9769f','2026-11-30 14:23:01.031860');
INSERT INTO "checks" VALUES('chk_a0e33b27b2f8c4d9dbd2c24e','aud_5111c8236769df788ffd3d1d','trj_6853163285bd20258a61e388','success','verifier','outcome',1,1.0,'3 of 3 rules hold','chk_73cf6278cb8e9e13b4052295','2026-11-30 14:23:01.031868');
INSERT INTO "checks" VALUES('chk_a22ff724a11c81742b4cfd26','aud_ca71db65c0ea72387fdfcf6f','trj_1ee6165f2ad67cae85d9dd24','state','verifier','outcome',1,NULL,'','chk_dea04860ce627e4b0da9769f','2026-11-30 14:23:01.785546');
INSERT INTO "checks" VALUES('chk_dce136d3ce9456aa660ac665','aud_ca71db65c0ea72387fdfcf6f','trj_6310313ea9715e518fe7eedf','state','verifier','outcome',0,NULL,'','chk_15c5693c754a62ee9420bf91','2026-11-30 14:23:01.785575');
INSERT INTO "checks" VALUES('chk_417810a3d040b141fd0caacf','aud_ca71db65c0ea72387fdfcf6f','trj_ddda2822b4c94f28af27fdb3','state','verifier','outcome',1,NULL,'','chk_dea04860ce627e4b0da9769f','2026-11-30 14:23:01.785637');
INSERT INTO "checks" VALUES('chk_91dc8feaf4ebcf41a6e33276','aud_ca71db65c0ea72387fdfcf6f','trj_bb125e211c6e04438857a222','state','verifier','outcome',0,NULL,'','chk_15c5693c754a62ee9420bf91','2026-11-30 14:23:01.785658');
INSERT INTO "checks" VALUES('chk_9c7ebba93d1ca77f3a9ddb62','aud_772e7225518eaddaefe9f6ae','trj_d6f0809784a1e1f7f6aed209','human check','human','outcome',1,NULL,'','chk_dea04860ce627e4b0da9769f','2026-11-30 17:28:34.565640');
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
INSERT INTO "gold_labels" VALUES('lab_28556f7b975d2adc7fed7768','aud_9c74c0d9546f1fb685a2621f','p1','ann','A','human','lab_cf66b3ca8f2c0f7e1ee74c38','2026-11-30 14:22:59.943287');
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
INSERT INTO "imports" VALUES('imp_1','aud_9c74c0d9546f1fb685a2621f','pairs','pairs.jsonl',2,0,'[]','2026-11-30 14:22:59.955505');
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
    created_at TIMESTAMP WITH TIME ZONE NOT NULL, reply_key VARCHAR, cached_from VARCHAR, retry_after_s FLOAT, shown_json VARCHAR,
    PRIMARY KEY (log_id),
    FOREIGN KEY(audit_id) REFERENCES audits (audit_id)
);
INSERT INTO "judge_logs" VALUES('log_0995d9b739e6f69429c3fcfc','aud_9c74c0d9546f1fb685a2621f',NULL,NULL,NULL,'trj_a623c830738d7f8face05643',NULL,NULL,'agent','',NULL,NULL,NULL,NULL,NULL,0,1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0.5,NULL,NULL,0,'2026-11-30 14:22:59.943196',NULL,NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_108507d192c19a656b0baa3c','aud_9c74c0d9546f1fb685a2621f',NULL,NULL,'p1',NULL,'jdg_09cc955cca6644cb6fbc0a6c',NULL,'judge','judge-m',NULL,NULL,NULL,NULL,NULL,0,1,'A',NULL,NULL,NULL,NULL,7,1,NULL,0.25,'imported',NULL,0,'2026-11-30 14:22:59.943719',NULL,NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_9be75dea4615fab283e485fa','aud_9c74c0d9546f1fb685a2621f',NULL,NULL,'p2',NULL,'jdg_09cc955cca6644cb6fbc0a6c',NULL,'judge','judge-m',NULL,NULL,NULL,NULL,NULL,0,1,'A',NULL,NULL,NULL,NULL,7,1,NULL,0.25,'imported',NULL,0,'2026-11-30 14:22:59.943878',NULL,NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_b157232edb18256eedde69cd','aud_9c74c0d9546f1fb685a2621f','run_2f1f008d030a4e61','cell_708b9f118d7c028a8bb3ef56','p1',NULL,'jdg_b1646839edeff31c35be752a',NULL,'judge','judge-n',NULL,NULL,NULL,NULL,'AB',0,1,NULL,NULL,NULL,'RateLimited',NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'2026-11-30 14:22:59.960737',NULL,NULL,1.5,NULL);
INSERT INTO "judge_logs" VALUES('log_532012cfd1c2d8c257bdae43','aud_9c74c0d9546f1fb685a2621f','run_2f1f008d030a4e61','cell_708b9f118d7c028a8bb3ef56','p1',NULL,'jdg_b1646839edeff31c35be752a',NULL,'judge','judge-n',NULL,NULL,NULL,NULL,'AB',0,2,'{"winner": "A", "reasons": "done"}',NULL,NULL,NULL,'stop',100,9,NULL,0.125,'misjudge.toml',NULL,0,'2026-11-30 14:22:59.960764','rpl_1',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_d4136cae706f09b6c407f52f','aud_9c74c0d9546f1fb685a2621f','run_2f1f008d030a4e61','cell_eeb361a4b1780bde891932e6','p1',NULL,'jdg_b1646839edeff31c35be752a',NULL,'judge','judge-n',NULL,NULL,NULL,NULL,'BA',0,1,'{"winner": "A", "reasons": "done"}',NULL,NULL,NULL,'stop',NULL,NULL,NULL,0.0,NULL,NULL,0,'2026-11-30 14:22:59.960780','rpl_2','log_532012cfd1c2d8c257bdae43',NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_c54facbfcd7643caeafa7fc1','aud_9c74c0d9546f1fb685a2621f','run_ffbe939681f34077','cell_610eb7831953e0525a4951fe','p2',NULL,'jdg_b1646839edeff31c35be752a',NULL,'judge','judge-n',NULL,NULL,NULL,NULL,'AB',0,1,NULL,NULL,NULL,'Unreachable',NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'2026-11-30 14:22:59.964729',NULL,NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_cb2af68a372e27f5350f6294','aud_9c74c0d9546f1fb685a2621f','run_7f5f3e0e7d9b4df7','cell_0379c65906f886e05f390752','p1',NULL,'jdg_71213f83aa1db21e6d615f4f',NULL,'judge','simulated-judge',NULL,NULL,NULL,NULL,'AB',0,1,'{"winner": "A", "reasons": "done"}',NULL,NULL,NULL,'stop',100,9,NULL,0.0,'simulated',NULL,1,'2026-11-30 14:22:59.967180','rpl_3',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_7e8401a23a3be3d02809ed23','aud_5111c8236769df788ffd3d1d','run_252792dadc5d479e','cell_6bd6df3beee10f843f9a1d20','query_boot_size#0:diligent|flaky:0.5',NULL,'jdg_b1646839edeff31c35be752a',NULL,'judge','judge-n','{"max_tokens":1024,"model":"judge-n","response_format":"json_schema","temperature":0.0}','4d865a8528d05ab5','judge_pair.en.v1','5fdbf9ca09956a89','AB',0,1,'{"reasons": "So it is.", "score_a": 3, "score_b": 3, "winner": "A"}','{"winner": "A", "score_a": 3.0, "score_b": 3.0, "reasons": "So it is.", "unscored_reason": null, "repaired": false, "contradicts_scores": false}',NULL,NULL,'stop',11,3,2.2957324981689453125e+00,1.7e-05,'misjudge.toml','chatcmpl-1',0,'2026-11-30 14:23:01.590497','reply_d5f57962eebc8955ebd392ed',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_9acd97a08c0474caa9b2b1d6','aud_5111c8236769df788ffd3d1d','run_0457b2f19b644f54','probe_fb548fb0a3f86d69f61af5f4','query_boot_size#0:diligent|flaky:0.5',NULL,'jdg_b1646839edeff31c35be752a',NULL,'probe','judge-n','{"max_tokens":1024,"model":"judge-n","response_format":"json_schema","temperature":0.0}','4d865a8528d05ab5','judge_pair.en.v1','e2d88c0a2733e08f','AB',0,1,'{"reasons": "So it is.", "score_a": 3, "score_b": 3, "winner": "A"}','{"winner": "A", "score_a": 3.0, "score_b": 3.0, "reasons": "So it is.", "unscored_reason": null, "repaired": false, "contradicts_scores": false}',NULL,NULL,'stop',11,3,8.319854736328125e+00,1.7e-05,'misjudge.toml','chatcmpl-1',0,'2026-11-30 14:23:01.737497',NULL,NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_b7245a8c58f2639ce16730f5','aud_5111c8236769df788ffd3d1d','run_0457b2f19b644f54','probe_6b698011bb66bb83db004378','query_boot_size#0:diligent|flaky:0.5',NULL,'jdg_b1646839edeff31c35be752a',NULL,'probe','judge-n','{"max_tokens":1024,"model":"judge-n","response_format":"json_schema","temperature":0.0}','4d865a8528d05ab5','judge_pair.en.v1','9552e133a64f3245','AB',1,1,'{"reasons": "So it is.", "score_a": 3, "score_b": 3, "winner": "A"}','{"winner": "A", "score_a": 3.0, "score_b": 3.0, "reasons": "So it is.", "unscored_reason": null, "repaired": false, "contradicts_scores": false}',NULL,NULL,'stop',11,3,1.20112895965576171875e+01,1.7e-05,'misjudge.toml','chatcmpl-1',0,'2026-11-30 14:23:01.743893',NULL,NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_e846c94001f229d575cd8b19','aud_5111c8236769df788ffd3d1d','run_0457b2f19b644f54','probe_3d855a4440f7b7d6e99eb224','query_boot_size#0:diligent|flaky:0.5',NULL,'jdg_b1646839edeff31c35be752a',NULL,'probe','judge-n','{"max_tokens":1024,"model":"judge-n","response_format":"json_schema","temperature":0.0}','4d865a8528d05ab5','judge_pair.en.v1','aa8207ba65e0ccbf','AB',0,1,'{"reasons": "So it is.", "score_a": 3, "score_b": 3, "winner": "A"}','{"winner": "A", "score_a": 3.0, "score_b": 3.0, "reasons": "So it is.", "unscored_reason": null, "repaired": false, "contradicts_scores": false}',NULL,NULL,'stop',11,3,1.20258331298828125e+01,1.7e-05,'misjudge.toml','chatcmpl-1',0,'2026-11-30 14:23:01.744447',NULL,NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_e8b33f6fd17e7ed05ddc4884','aud_ca71db65c0ea72387fdfcf6f','run_7ea6be166046465a','cell_0c9958a3557e7f54c0957b55',NULL,NULL,'jdg_9502fd292be8d42ea1f6a8b2',1,'rubric_generate','judge-m','{"max_tokens":1024,"model":"judge-m","response_format":"json_schema","temperature":0.0}','65a427a620b26901','rubric_generate.en.v1','61ee109ab5aa3872',NULL,0,1,'{"rules": [{"rule": "It does what can run at all.", "hard": false}, {"rule": "The Customer is told", "hard": false}, {"rule": "It calls a tool.", "hard": false}, {"rule": "It leaves no other order touched.", "hard": false}]}','{"rules": [{"rule": "It does what can run at all.", "hard": false}, {"rule": "The Customer is told", "hard": false}, {"rule": "It calls a tool.", "hard": false}, {"rule": "It leaves no other order touched.", "hard": false}]}',NULL,NULL,'stop',11,3,2.421855926513671875e+00,NULL,NULL,'chatcmpl-1',0,'2026-11-30 14:23:01.923937','turn_f666cd6d2db1164dd3517d60',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_607f4c82689de0e856d45e77','aud_ca71db65c0ea72387fdfcf6f','run_7ea6be166046465a','cell_71a6e278a478aff0e8383864',NULL,NULL,'jdg_b14d9fccd933c38eb10068b7',1,'rubric_match','judge-m','{"max_tokens":1024,"model":"judge-m","response_format":"json_schema","temperature":0.0}','8e27e7a56f0dfc16','rubric_match.en.v1','c57c04b875cf941c',NULL,0,1,'{"reason": "As it reads.", "match": 1}','{"matches": [{"rule": 1, "match": 1}]}',NULL,NULL,'stop',11,3,1.2457370758056640625e+00,NULL,NULL,'chatcmpl-1',0,'2026-11-30 14:23:01.935877','turn_b65e3cb02effc52acd141a82',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_c65edc8dabee750abb27e393','aud_ca71db65c0ea72387fdfcf6f','run_7ea6be166046465a','cell_71a6e278a478aff0e8383864',NULL,NULL,'jdg_b14d9fccd933c38eb10068b7',2,'rubric_match','judge-m','{"max_tokens":1024,"model":"judge-m","response_format":"json_schema","temperature":0.0}','8e27e7a56f0dfc16','rubric_match.en.v1','31a80c1b5f4fcf22',NULL,0,1,'{"reason": "As it reads.", "match": null}','{"matches": [{"rule": 3, "match": null}]}',NULL,NULL,'stop',11,3,6.31809234619140625e-01,NULL,NULL,'chatcmpl-1',0,'2026-11-30 14:23:01.937475','turn_7ff778821d0d44158c9d616b',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_5310a8b8a372b338eedbcadb','aud_ca71db65c0ea72387fdfcf6f','run_7ea6be166046465a','cell_71a6e278a478aff0e8383864',NULL,NULL,'jdg_b14d9fccd933c38eb10068b7',3,'rubric_match','judge-m','{"max_tokens":1024,"model":"judge-m","response_format":"json_schema","temperature":0.0}','8e27e7a56f0dfc16','rubric_match.en.v1','d2ef10b9a9123337',NULL,0,1,'{"reason": "As it reads.", "match": 3}','{"matches": [{"rule": 4, "match": 3}]}',NULL,NULL,'stop',11,3,6.821155548095703125e-01,NULL,NULL,'chatcmpl-1',0,'2026-11-30 14:23:01.939025','turn_7c0163e55b6c52b63a869f2e',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_15b108d9efb905c110bdf371','aud_ca71db65c0ea72387fdfcf6f','run_7ea6be166046465a','cell_a71fd854a46422f51e32dc6b','p0',NULL,'jdg_f573c1a6e23b1759c014f075',NULL,'rubric_apply','judge-m','{"max_tokens":1264,"model":"judge-m","response_format":"json_schema","temperature":0.0}','2144f5600e544398','judge_pair_rubric.en.v1','10a2e773e7950cce','AB',0,1,'{"rules": [{"rule": 1, "reason": "As it reads.", "a": "meets", "b": "fails"}, {"rule": 2, "reason": "As it reads.", "a": "meets", "b": "fails"}, {"rule": 3, "reason": "As it reads.", "a": "meets", "b": "fails"}], "reasons": "So it is.", "score_a": 4, "score_b": 2, "winner": "A"}','{"winner": "A", "score_a": 4.0, "score_b": 2.0, "reasons": "So it is.", "unscored_reason": null, "repaired": false, "contradicts_scores": false, "rules": [{"rule": 1, "met_a": true, "met_b": false, "met": null, "reason": "As it reads."}, {"rule": 2, "met_a": true, "met_b": false, "met": null, "reason": "As it reads."}, {"rule": 3, "met_a": true, "met_b": false, "met": null, "reason": "As it reads."}]}',NULL,NULL,'stop',11,3,6.506443023681640625e-01,NULL,NULL,'chatcmpl-1',0,'2026-11-30 14:23:01.944279','reply_ed47e0ea65cf62e6f58e4b8a',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_8963abd3388a47df545277bc','aud_ca71db65c0ea72387fdfcf6f','run_7ea6be166046465a','cell_5f28805434d1c80d1f5acd9b','p0',NULL,'jdg_f573c1a6e23b1759c014f075',NULL,'rubric_apply','judge-m','{"max_tokens":1264,"model":"judge-m","response_format":"json_schema","temperature":0.0}','2144f5600e544398','judge_pair_rubric.en.v1','2b2c041befbfd0bb','BA',0,1,'{"rules": [{"rule": 1, "reason": "As it reads.", "a": "meets", "b": "fails"}, {"rule": 2, "reason": "As it reads.", "a": "meets", "b": "fails"}, {"rule": 3, "reason": "As it reads.", "a": "meets", "b": "fails"}], "reasons": "So it is.", "score_a": 4, "score_b": 2, "winner": "A"}','{"winner": "A", "score_a": 4.0, "score_b": 2.0, "reasons": "So it is.", "unscored_reason": null, "repaired": false, "contradicts_scores": false, "rules": [{"rule": 1, "met_a": true, "met_b": false, "met": null, "reason": "As it reads."}, {"rule": 2, "met_a": true, "met_b": false, "met": null, "reason": "As it reads."}, {"rule": 3, "met_a": true, "met_b": false, "met": null, "reason": "As it reads."}]}',NULL,NULL,'stop',11,3,1.513957977294921875e+00,NULL,NULL,'chatcmpl-1',0,'2026-11-30 14:23:01.949344','reply_7119803062ea2b6dec787006',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_35cebbbe2e23d7eef06606d2','aud_ca71db65c0ea72387fdfcf6f','run_7ea6be166046465a','cell_5563e6f49e15f9592562c281','p0',NULL,'jdg_7388d74ff36fe2ae187a38bd',NULL,'judge','judge-m','{"max_tokens":1024,"model":"judge-m","response_format":"json_schema","temperature":0.0}','4d865a8528d05ab5','judge_pair.en.v1','45475e53c12675a8','AB',0,1,'{"reasons": "So it is.", "score_a": 3, "score_b": 3, "winner": "A"}','{"winner": "A", "score_a": 3.0, "score_b": 3.0, "reasons": "So it is.", "unscored_reason": null, "repaired": false, "contradicts_scores": false}',NULL,NULL,'stop',11,3,7.231235504150390625e-01,NULL,NULL,'chatcmpl-1',0,'2026-11-30 14:23:01.951742','reply_fba31c647cc3ecf5975bea4c',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_e74024d35ce9800ef76d6ffd','aud_ca71db65c0ea72387fdfcf6f','run_7ea6be166046465a','cell_0935686a152be25c1bf5a2c6','p0',NULL,'jdg_7388d74ff36fe2ae187a38bd',NULL,'judge','judge-m','{"max_tokens":1024,"model":"judge-m","response_format":"json_schema","temperature":0.0}','4d865a8528d05ab5','judge_pair.en.v1','d0cac7694a09a22a','BA',0,1,'{"reasons": "So it is.", "score_a": 3, "score_b": 3, "winner": "A"}','{"winner": "A", "score_a": 3.0, "score_b": 3.0, "reasons": "So it is.", "unscored_reason": null, "repaired": false, "contradicts_scores": false}',NULL,NULL,'stop',11,3,5.629062652587890625e-01,NULL,NULL,'chatcmpl-1',0,'2026-11-30 14:23:01.953294','reply_cf09bd221e3762575b98e8ad',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_3b2a2b5605ac71dd82c12187','aud_ca71db65c0ea72387fdfcf6f','run_7ea6be166046465a','cell_6dc33b2e54ed93e9d8820351','p0',NULL,'jdg_359b77bc01f645450ceeaca4',NULL,'rubric_apply','judge-m','{"max_tokens":1204,"model":"judge-m","response_format":"json_schema","temperature":0.0}','2144f5600e544398','judge_pair_rubric.en.v1','7879e6a8139ff4bf','AB',0,1,'{"rules": [{"rule": 1, "reason": "As it reads.", "a": "meets", "b": "fails"}, {"rule": 2, "reason": "As it reads.", "a": "meets", "b": "fails"}, {"rule": 3, "reason": "As it reads.", "a": "meets", "b": "fails"}], "reasons": "So it is.", "score_a": 4, "score_b": 2, "winner": "A"}','{"winner": "A", "score_a": 4.0, "score_b": 2.0, "reasons": "So it is.", "unscored_reason": null, "repaired": false, "contradicts_scores": false, "rules": [{"rule": 1, "met_a": true, "met_b": false, "met": null, "reason": "As it reads."}, {"rule": 2, "met_a": true, "met_b": false, "met": null, "reason": "As it reads."}, {"rule": 3, "met_a": true, "met_b": false, "met": null, "reason": "As it reads."}]}',NULL,NULL,'stop',11,3,6.072521209716796875e-01,NULL,NULL,'chatcmpl-1',0,'2026-11-30 14:23:01.954915','reply_17609f18983e566e3b18fed6',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_b3b8d3b14860481cc0557d9a','aud_ca71db65c0ea72387fdfcf6f','run_7ea6be166046465a','cell_f799618c4c831e7642a5c079','p0',NULL,'jdg_359b77bc01f645450ceeaca4',NULL,'rubric_apply','judge-m','{"max_tokens":1204,"model":"judge-m","response_format":"json_schema","temperature":0.0}','2144f5600e544398','judge_pair_rubric.en.v1','9d36afe203a7f6ed','BA',0,1,'{"rules": [{"rule": 1, "reason": "As it reads.", "a": "meets", "b": "fails"}, {"rule": 2, "reason": "As it reads.", "a": "meets", "b": "fails"}, {"rule": 3, "reason": "As it reads.", "a": "meets", "b": "fails"}], "reasons": "So it is.", "score_a": 4, "score_b": 2, "winner": "A"}','{"winner": "A", "score_a": 4.0, "score_b": 2.0, "reasons": "So it is.", "unscored_reason": null, "repaired": false, "contradicts_scores": false, "rules": [{"rule": 1, "met_a": true, "met_b": false, "met": null, "reason": "As it reads."}, {"rule": 2, "met_a": true, "met_b": false, "met": null, "reason": "As it reads."}, {"rule": 3, "met_a": true, "met_b": false, "met": null, "reason": "As it reads."}]}',NULL,NULL,'stop',11,3,0.545501708984375,NULL,NULL,'chatcmpl-1',0,'2026-11-30 14:23:01.956563','reply_f3eaf1f807735e290f877665',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_e912367ba935edb4a6135c0a','aud_ca71db65c0ea72387fdfcf6f','run_7ea6be166046465a','cell_f9a1668ed88b3a4a60c3e8ff',NULL,NULL,'jdg_9502fd292be8d42ea1f6a8b2',1,'rubric_generate','judge-m','{"max_tokens":1024,"model":"judge-m","response_format":"json_schema","temperature":0.0}','65a427a620b26901','rubric_generate.en.v1','885a00418ee9192e',NULL,0,1,'{"rules": [{"rule": "It does what can run at all.", "hard": false}, {"rule": "The Customer is told", "hard": false}, {"rule": "It calls a tool.", "hard": false}, {"rule": "It leaves no other order touched.", "hard": false}]}','{"rules": [{"rule": "It does what can run at all.", "hard": false}, {"rule": "The Customer is told", "hard": false}, {"rule": "It calls a tool.", "hard": false}, {"rule": "It leaves no other order touched.", "hard": false}]}',NULL,NULL,'stop',11,3,5.695819854736328125e-01,NULL,NULL,'chatcmpl-1',0,'2026-11-30 14:23:01.959942','turn_18752a323d301f1dab6713cd',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_30030bdf6a3f564bf7b9d2d7','aud_ca71db65c0ea72387fdfcf6f','run_7ea6be166046465a','cell_577666d40c2b272bd40a040b',NULL,NULL,'jdg_b14d9fccd933c38eb10068b7',1,'rubric_match','judge-m','{"max_tokens":1024,"model":"judge-m","response_format":"json_schema","temperature":0.0}','8e27e7a56f0dfc16','rubric_match.en.v1','bef834ca5a1cfb56',NULL,0,1,'{"reason": "As it reads.", "match": 1}','{"matches": [{"rule": 1, "match": 1}]}',NULL,NULL,'stop',11,3,9.343624114990234375e-01,NULL,NULL,'chatcmpl-1',0,'2026-11-30 14:23:01.966721','turn_f39242d6050c341c87f8495f',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_d888b453796f8740c164d48d','aud_ca71db65c0ea72387fdfcf6f','run_7ea6be166046465a','cell_577666d40c2b272bd40a040b',NULL,NULL,'jdg_b14d9fccd933c38eb10068b7',2,'rubric_match','judge-m','{"max_tokens":1024,"model":"judge-m","response_format":"json_schema","temperature":0.0}','8e27e7a56f0dfc16','rubric_match.en.v1','0af36c82bb25201b',NULL,0,1,'{"reason": "As it reads.", "match": null}','{"matches": [{"rule": 3, "match": null}]}',NULL,NULL,'stop',11,3,5.066394805908203125e-01,NULL,NULL,'chatcmpl-1',0,'2026-11-30 14:23:01.968154','turn_07a5c3f6237539af8afeeba3',NULL,NULL,NULL);
INSERT INTO "judge_logs" VALUES('log_1b9e6b199600c7c3cb1f8ac6','aud_ca71db65c0ea72387fdfcf6f','run_7ea6be166046465a','cell_577666d40c2b272bd40a040b',NULL,NULL,'jdg_b14d9fccd933c38eb10068b7',3,'rubric_match','judge-m','{"max_tokens":1024,"model":"judge-m","response_format":"json_schema","temperature":0.0}','8e27e7a56f0dfc16','rubric_match.en.v1','af4cae58e75e7d26',NULL,0,1,'{"reason": "As it reads.", "match": 3}','{"matches": [{"rule": 4, "match": 3}]}',NULL,NULL,'stop',11,3,4.749298095703125e-01,NULL,NULL,'chatcmpl-1',0,'2026-11-30 14:23:01.969380','turn_5faa7e65fac854a7a42d5307',NULL,NULL,NULL);
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
INSERT INTO "judges" VALUES('aud_9c74c0d9546f1fb685a2621f','jdg_5e927b8c5c79dceb56ed4fc3','gate','satisfaction','judge-m','{}','','','','1','imported',0.0,1.0,0.8,'higher',0,'2026-11-30 14:22:59.941080');
INSERT INTO "judges" VALUES('aud_9c74c0d9546f1fb685a2621f','jdg_09cc955cca6644cb6fbc0a6c','judge','pairwise','judge-m','{}','','','','1','imported',NULL,NULL,NULL,'higher',0,'2026-11-30 14:22:59.943308');
INSERT INTO "judges" VALUES('aud_9c74c0d9546f1fb685a2621f','jdg_b1646839edeff31c35be752a','judge-n','pairwise','judge-n','{"max_tokens":1024,"reply_form":"json","temperature":0}','judge_pair.en.v1','4d865a8528d05ab5','','2','gateway',0.0,5.0,NULL,'higher',0,'2026-11-30 14:22:59.956033');
INSERT INTO "judges" VALUES('aud_9c74c0d9546f1fb685a2621f','jdg_71213f83aa1db21e6d615f4f','simulated','pairwise','simulated-judge','{"max_tokens":1024,"planted":{"lenience":0.6,"near":0.25,"noise":0.05,"politeness":0.4,"position":0.2,"seed":7},"reply_form":"json","temperature":0}','judge_pair.en.v1','4d865a8528d05ab5','','2','gateway',0.0,5.0,NULL,'higher',1,'2026-11-30 14:22:59.965953');
INSERT INTO "judges" VALUES('aud_5111c8236769df788ffd3d1d','jdg_b1646839edeff31c35be752a','judge-n','pairwise','judge-n','{"max_tokens":1024,"reply_form":"json","temperature":0}','judge_pair.en.v1','4d865a8528d05ab5','','2','gateway',0.0,5.0,NULL,'higher',0,'2026-11-30 14:23:00.719365');
INSERT INTO "judges" VALUES('aud_ca71db65c0ea72387fdfcf6f','jdg_7388d74ff36fe2ae187a38bd','judge-m','pairwise','judge-m','{"max_tokens":1024,"reply_form":"json","temperature":0}','judge_pair.en.v1','4d865a8528d05ab5','','2','gateway',0.0,5.0,NULL,'higher',0,'2026-11-30 14:23:01.840586');
INSERT INTO "judges" VALUES('aud_ca71db65c0ea72387fdfcf6f','jdg_f573c1a6e23b1759c014f075','judge-m+rules:self','pairwise','judge-m','{"max_tokens":1024,"reply_form":"json","rubrics":{"kind":"self","writer_id":"jdg_9502fd292be8d42ea1f6a8b2"},"temperature":0}','judge_pair_rubric.en.v1','2144f5600e544398','rules_ca35db733aaedbfa6ceb4897','2','gateway',0.0,5.0,NULL,'higher',0,'2026-11-30 14:23:01.841947');
INSERT INTO "judges" VALUES('aud_ca71db65c0ea72387fdfcf6f','jdg_359b77bc01f645450ceeaca4','judge-m+rules:human','pairwise','judge-m','{"max_tokens":1024,"reply_form":"json","rubrics":{"kind":"human"},"temperature":0}','judge_pair_rubric.en.v1','2144f5600e544398','rules_d696f624b4ba3ceffac32847','2','gateway',0.0,5.0,NULL,'higher',0,'2026-11-30 14:23:01.842382');
INSERT INTO "judges" VALUES('aud_ca71db65c0ea72387fdfcf6f','jdg_9502fd292be8d42ea1f6a8b2','judge-m','rubric_generate','judge-m','{"max_tokens":1024,"reply_form":"json","temperature":0}','rubric_generate.en.v1','65a427a620b26901','','2','gateway',NULL,NULL,NULL,'higher',0,'2026-11-30 14:23:01.842724');
INSERT INTO "judges" VALUES('aud_ca71db65c0ea72387fdfcf6f','jdg_b14d9fccd933c38eb10068b7','judge-m','rubric_match','judge-m','{"max_tokens":1024,"reply_form":"json","temperature":0}','rubric_match.en.v1','8e27e7a56f0dfc16','','2','gateway',NULL,NULL,NULL,'higher',0,'2026-11-30 14:23:01.842993');
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
INSERT INTO "pairs" VALUES('aud_9c74c0d9546f1fb685a2621f','p1','t1',NULL,'trj_a623c830738d7f8face05643','trj_380e2f981696f5c8f04080ac',NULL,NULL,NULL,'pr_0d7c456261df9c456369130a','2026-11-30 14:22:59.943273');
INSERT INTO "pairs" VALUES('aud_9c74c0d9546f1fb685a2621f','p2','t1',NULL,'trj_a623c830738d7f8face05643','trj_380e2f981696f5c8f04080ac',NULL,NULL,NULL,'pr_0d7c456261df9c456369130a','2026-11-30 14:22:59.943845');
INSERT INTO "pairs" VALUES('aud_5111c8236769df788ffd3d1d','query_boot_size#0:diligent|flaky:0.5','query_boot_size',0,'trj_7f835d2ac1f7250a77bfb315','trj_6853163285bd20258a61e388','wide',NULL,NULL,'pr_0d9c54e4c28dfad903c5e038','2026-11-30 14:23:00.710484');
INSERT INTO "pairs" VALUES('aud_ca71db65c0ea72387fdfcf6f','p0','task of p0',0,'trj_1ee6165f2ad67cae85d9dd24','trj_6310313ea9715e518fe7eedf',NULL,NULL,NULL,'pr_b0f145a80847dac567f09c53','2026-11-30 14:23:01.785593');
INSERT INTO "pairs" VALUES('aud_ca71db65c0ea72387fdfcf6f','p1','task of p1',0,'trj_ddda2822b4c94f28af27fdb3','trj_bb125e211c6e04438857a222',NULL,NULL,NULL,'pr_51b867332d196f1d83537908','2026-11-30 14:23:01.785668');
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
INSERT INTO "planned_pairs" VALUES('run_252792dadc5d479e','query_boot_size#0:diligent|flaky:0.5','aud_5111c8236769df788ffd3d1d','query_boot_size',0,'trj_7f835d2ac1f7250a77bfb315','trj_6853163285bd20258a61e388','wide',NULL,NULL,'pr_0d9c54e4c28dfad903c5e038','2026-11-30 14:23:00.710484');
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
INSERT INTO "probe_verdicts" VALUES('probe_fb548fb0a3f86d69f61af5f4','aud_5111c8236769df788ffd3d1d','jdg_b1646839edeff31c35be752a','query_boot_size#0:diligent|flaky:0.5','baseline','baseline.en.v1',NULL,'AB',0,'scored','A',3.0,3.0,'So it is.',NULL,0,0,'log_9acd97a08c0474caa9b2b1d6','2026-11-30 14:23:01.737558');
INSERT INTO "probe_verdicts" VALUES('probe_6b698011bb66bb83db004378','aud_5111c8236769df788ffd3d1d','jdg_b1646839edeff31c35be752a','query_boot_size#0:diligent|flaky:0.5','baseline','baseline.en.v1',NULL,'AB',1,'scored','A',3.0,3.0,'So it is.',NULL,0,0,'log_b7245a8c58f2639ce16730f5','2026-11-30 14:23:01.743947');
INSERT INTO "probe_verdicts" VALUES('probe_3d855a4440f7b7d6e99eb224','aud_5111c8236769df788ffd3d1d','jdg_b1646839edeff31c35be752a','query_boot_size#0:diligent|flaky:0.5','padding','padding.en.v1:A','A','AB',0,'scored','A',3.0,3.0,'So it is.',NULL,0,0,'log_e846c94001f229d575cd8b19','2026-11-30 14:23:01.744474');
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
INSERT INTO "rubric_drafts" VALUES('cell_0c9958a3557e7f54c0957b55','aud_ca71db65c0ea72387fdfcf6f','jdg_9502fd292be8d42ea1f6a8b2','task of p0','scored',NULL,'rub_4d2df453a938a7d9debb5db4',4,0,0,0,0,0,'log_e8b33f6fd17e7ed05ddc4884','2026-11-30 14:23:01.927050');
INSERT INTO "rubric_drafts" VALUES('cell_f9a1668ed88b3a4a60c3e8ff','aud_ca71db65c0ea72387fdfcf6f','jdg_9502fd292be8d42ea1f6a8b2','task of p1','scored',NULL,'rub_4d2df453a938a7d9debb5db4',4,0,0,0,0,0,'log_e912367ba935edb4a6135c0a','2026-11-30 14:23:01.960915');
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
INSERT INTO "rubric_matches" VALUES('cell_71a6e278a478aff0e8383864',1,1,'scored',NULL,'judge','As it reads.',0,'log_607f4c82689de0e856d45e77');
INSERT INTO "rubric_matches" VALUES('cell_71a6e278a478aff0e8383864',2,2,'scored',NULL,'equal','',0,NULL);
INSERT INTO "rubric_matches" VALUES('cell_71a6e278a478aff0e8383864',3,NULL,'scored',NULL,'judge','As it reads.',0,'log_c65edc8dabee750abb27e393');
INSERT INTO "rubric_matches" VALUES('cell_71a6e278a478aff0e8383864',4,3,'scored',NULL,'judge','As it reads.',0,'log_5310a8b8a372b338eedbcadb');
INSERT INTO "rubric_matches" VALUES('cell_577666d40c2b272bd40a040b',1,1,'scored',NULL,'judge','As it reads.',0,'log_30030bdf6a3f564bf7b9d2d7');
INSERT INTO "rubric_matches" VALUES('cell_577666d40c2b272bd40a040b',2,2,'scored',NULL,'equal','',0,NULL);
INSERT INTO "rubric_matches" VALUES('cell_577666d40c2b272bd40a040b',3,NULL,'scored',NULL,'judge','As it reads.',0,'log_d888b453796f8740c164d48d');
INSERT INTO "rubric_matches" VALUES('cell_577666d40c2b272bd40a040b',4,3,'scored',NULL,'judge','As it reads.',0,'log_1b9e6b199600c7c3cb1f8ac6');
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
INSERT INTO "rubric_matchings" VALUES('cell_71a6e278a478aff0e8383864','aud_ca71db65c0ea72387fdfcf6f','jdg_b14d9fccd933c38eb10068b7','cell_0c9958a3557e7f54c0957b55','rub_80e46e608bc87a9b2ec0e100','scored',NULL,'2026-11-30 14:23:01.939600');
INSERT INTO "rubric_matchings" VALUES('cell_577666d40c2b272bd40a040b','aud_ca71db65c0ea72387fdfcf6f','jdg_b14d9fccd933c38eb10068b7','cell_f9a1668ed88b3a4a60c3e8ff','rub_80e46e608bc87a9b2ec0e100','scored',NULL,'2026-11-30 14:23:01.969934');
CREATE TABLE rubric_names (
    entry_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    rubric_id VARCHAR NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (entry_id),
    FOREIGN KEY(rubric_id) REFERENCES rubric_sets (rubric_id)
);
INSERT INTO "rubric_names" VALUES('rbn_61e351a9dd09c3a11fdc3f27_000001','orders','rub_2a9d1ded0fc9982aab7bc505','2026-11-30 14:23:02.010086');
CREATE TABLE rubric_rules (
    rubric_id VARCHAR NOT NULL,
    rule INTEGER NOT NULL,
    text VARCHAR NOT NULL,
    hard BOOLEAN NOT NULL,
    high_level BOOLEAN NOT NULL,
    PRIMARY KEY (rubric_id, rule),
    FOREIGN KEY(rubric_id) REFERENCES rubric_sets (rubric_id)
);
INSERT INTO "rubric_rules" VALUES('rub_80e46e608bc87a9b2ec0e100',1,'It can run at all.',0,0);
INSERT INTO "rubric_rules" VALUES('rub_80e46e608bc87a9b2ec0e100',2,'The customer is told.',0,0);
INSERT INTO "rubric_rules" VALUES('rub_80e46e608bc87a9b2ec0e100',3,'No other order is touched.',0,0);
INSERT INTO "rubric_rules" VALUES('rub_4d2df453a938a7d9debb5db4',1,'It does what can run at all.',0,0);
INSERT INTO "rubric_rules" VALUES('rub_4d2df453a938a7d9debb5db4',2,'The Customer is told',0,0);
INSERT INTO "rubric_rules" VALUES('rub_4d2df453a938a7d9debb5db4',3,'It calls a tool.',0,0);
INSERT INTO "rubric_rules" VALUES('rub_4d2df453a938a7d9debb5db4',4,'It leaves no other order touched.',0,0);
INSERT INTO "rubric_rules" VALUES('rub_2a9d1ded0fc9982aab7bc505',1,'The customer is told.',0,0);
INSERT INTO "rubric_rules" VALUES('rub_2a9d1ded0fc9982aab7bc505',2,'No other order is touched.',0,0);
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
INSERT INTO "rubric_rulings" VALUES('cell_a71fd854a46422f51e32dc6b','aud_ca71db65c0ea72387fdfcf6f','jdg_f573c1a6e23b1759c014f075','rub_4d2df453a938a7d9debb5db4',NULL,NULL,0,1);
INSERT INTO "rubric_rulings" VALUES('cell_5f28805434d1c80d1f5acd9b','aud_ca71db65c0ea72387fdfcf6f','jdg_f573c1a6e23b1759c014f075','rub_4d2df453a938a7d9debb5db4',NULL,NULL,0,1);
INSERT INTO "rubric_rulings" VALUES('cell_6dc33b2e54ed93e9d8820351','aud_ca71db65c0ea72387fdfcf6f','jdg_359b77bc01f645450ceeaca4','rub_80e46e608bc87a9b2ec0e100','A',NULL,0,0);
INSERT INTO "rubric_rulings" VALUES('cell_f799618c4c831e7642a5c079','aud_ca71db65c0ea72387fdfcf6f','jdg_359b77bc01f645450ceeaca4','rub_80e46e608bc87a9b2ec0e100','B',NULL,0,0);
CREATE TABLE rubric_sets (
    rubric_id VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (rubric_id)
);
INSERT INTO "rubric_sets" VALUES('rub_80e46e608bc87a9b2ec0e100',3,'2026-11-30 14:23:01.785690');
INSERT INTO "rubric_sets" VALUES('rub_4d2df453a938a7d9debb5db4',4,'2026-11-30 14:23:01.927024');
INSERT INTO "rubric_sets" VALUES('rub_2a9d1ded0fc9982aab7bc505',2,'2026-11-30 14:23:02.007931');
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
INSERT INTO "rubric_verdicts" VALUES('cell_a71fd854a46422f51e32dc6b',1,1,0,NULL,'As it reads.');
INSERT INTO "rubric_verdicts" VALUES('cell_a71fd854a46422f51e32dc6b',2,1,0,NULL,'As it reads.');
INSERT INTO "rubric_verdicts" VALUES('cell_a71fd854a46422f51e32dc6b',3,1,0,NULL,'As it reads.');
INSERT INTO "rubric_verdicts" VALUES('cell_a71fd854a46422f51e32dc6b',4,NULL,NULL,NULL,'');
INSERT INTO "rubric_verdicts" VALUES('cell_5f28805434d1c80d1f5acd9b',1,0,1,NULL,'As it reads.');
INSERT INTO "rubric_verdicts" VALUES('cell_5f28805434d1c80d1f5acd9b',2,0,1,NULL,'As it reads.');
INSERT INTO "rubric_verdicts" VALUES('cell_5f28805434d1c80d1f5acd9b',3,0,1,NULL,'As it reads.');
INSERT INTO "rubric_verdicts" VALUES('cell_5f28805434d1c80d1f5acd9b',4,NULL,NULL,NULL,'');
INSERT INTO "rubric_verdicts" VALUES('cell_6dc33b2e54ed93e9d8820351',1,1,0,NULL,'As it reads.');
INSERT INTO "rubric_verdicts" VALUES('cell_6dc33b2e54ed93e9d8820351',2,1,0,NULL,'As it reads.');
INSERT INTO "rubric_verdicts" VALUES('cell_6dc33b2e54ed93e9d8820351',3,1,0,NULL,'As it reads.');
INSERT INTO "rubric_verdicts" VALUES('cell_f799618c4c831e7642a5c079',1,0,1,NULL,'As it reads.');
INSERT INTO "rubric_verdicts" VALUES('cell_f799618c4c831e7642a5c079',2,0,1,NULL,'As it reads.');
INSERT INTO "rubric_verdicts" VALUES('cell_f799618c4c831e7642a5c079',3,0,1,NULL,'As it reads.');
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
INSERT INTO "run_events" VALUES('528682d0e7d64250a7c653a8b90680fb','run_2f1f008d030a4e61','warning','cancelled','stopped; resume it to go on','2026-11-30 14:22:59.962462');
INSERT INTO "run_events" VALUES('caac1d1125e9471297715e8d164d6bce','run_7f5f3e0e7d9b4df7','warning','failed','the disk was full','2026-11-30 14:22:59.968074');
INSERT INTO "run_events" VALUES('13fd4f6e7b8e4756956d6249552805b1','run_252792dadc5d479e','warning','cancelled','limit reached: max_calls=1 is used up (1 calls asked). 3 of 4 cells are done, tasks in random order, so they are a sample. Go on with a higher limit.','2026-11-30 14:23:01.609242');
INSERT INTO "run_events" VALUES('eafc26db5f304a298329737d2dd1c4a4','run_0457b2f19b644f54','warning','cancelled','limit reached: max_calls=3 is used up (3 calls asked). 3 of 4 cells are done, tasks in random order, so they are a sample. Go on with a higher limit.','2026-11-30 14:23:01.748381');
INSERT INTO "run_events" VALUES('f1a782f6a53f4a9780aae1329e11cc69','run_7ea6be166046465a','warning','cancelled','limit reached: max_calls=14 is used up (14 calls asked). 10 of 16 cells are done, tasks in random order, so they are a sample. Go on with a higher limit.','2026-11-30 14:23:01.972275');
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
INSERT INTO "runs" VALUES('run_2f1f008d030a4e61','aud_9c74c0d9546f1fb685a2621f','judge','{"judges":[{"kind":"gateway","model":"judge-n","role":"judge","profile":null,"planted":null,"simulated":false,"form":"pairwise","language":"en","temperature":0.0,"max_tokens":1024,"prompt":null,"named_prompt":false,"reply_form":{"kind":"json","pattern":null,"labels":[]},"reuse":false,"context_tokens":null,"truncate":null,"rubrics":null,"forced":false}],"rollouts":null,"cascade":null,"orders":"both","rubrics":null}','nightly','cancelled','stopped; resume it to go on',NULL,'a-host',20607,NULL,1,'2026-11-30 14:22:59.956557','2026-11-30 14:22:59.961883','{"max_calls":10,"max_usd":0.5}',0,NULL);
INSERT INTO "runs" VALUES('run_ffbe939681f34077','aud_9c74c0d9546f1fb685a2621f','judge','{"judges":[{"kind":"gateway","model":"judge-n","role":"judge","profile":null,"planted":null,"simulated":false,"form":"pairwise","language":"en","temperature":0.0,"max_tokens":1024,"prompt":null,"named_prompt":false,"reply_form":{"kind":"json","pattern":null,"labels":[]},"reuse":true,"context_tokens":null,"truncate":null,"rubrics":null,"forced":false}],"rollouts":null,"cascade":null,"orders":"both","rubrics":null}',NULL,'running',NULL,'two','a-host',20607,'2026-11-30 14:22:59.963282',1,'2026-11-30 14:22:59.963282',NULL,NULL,0,'paused until the gateway answers again');
INSERT INTO "runs" VALUES('run_7f5f3e0e7d9b4df7','aud_9c74c0d9546f1fb685a2621f','judge','{"judges":[{"kind":"simulated","model":"simulated-judge","role":"judge","profile":null,"planted":{"position":0.2,"obedience":0.0,"length":0.0,"politeness":0.4,"self_preference":0.0,"family":"","noise":0.05,"near":0.25,"parse_failure":0.0,"lenience":0.6,"hits":1.0,"invents":0.0,"misses":0.0,"overmatches":0.0,"rule_following":1.0,"seed":7},"simulated":true,"form":"pairwise","language":"en","temperature":0.0,"max_tokens":1024,"prompt":null,"named_prompt":false,"reply_form":{"kind":"json","pattern":null,"labels":[]},"reuse":false,"context_tokens":null,"truncate":null,"rubrics":null,"forced":false}],"rollouts":null,"cascade":null,"orders":"both","rubrics":null}',NULL,'failed','the disk was full',NULL,'a-host',20607,NULL,1,'2026-11-30 14:22:59.966351','2026-11-30 14:22:59.967875',NULL,0,NULL);
INSERT INTO "runs" VALUES('run_c5068a1d15de4dcf','aud_9c74c0d9546f1fb685a2621f','judge','{"judges":[{"kind":"gateway","model":"judge-n","role":"judge","profile":null,"planted":null,"simulated":false,"form":"pairwise","language":"en","temperature":0.0,"max_tokens":1024,"prompt":null,"named_prompt":false,"reply_form":{"kind":"json","pattern":null,"labels":[]},"reuse":false,"context_tokens":null,"truncate":null,"rubrics":null,"forced":false}],"rollouts":null,"cascade":null,"orders":"both","rubrics":null}',NULL,'queued',NULL,NULL,NULL,NULL,NULL,0,'2026-11-30 14:22:59.968505',NULL,NULL,0,NULL);
INSERT INTO "runs" VALUES('run_252792dadc5d479e','aud_5111c8236769df788ffd3d1d','run_pair','{"judges":[{"kind":"gateway","model":"judge-n","role":"judge","profile":null,"planted":null,"simulated":false,"form":"pairwise","language":"en","temperature":0.0,"max_tokens":1024,"prompt":null,"named_prompt":false,"reply_form":{"kind":"json","pattern":null,"labels":[]},"reuse":false,"context_tokens":null,"truncate":null,"rubrics":null,"forced":false}],"rollouts":{"suite":"support_desk","digest":"suite_2a309dbdca208e2cfc0b7ea1","language":"en","tasks":["query_boot_size"],"agents":[{"name":"diligent","fingerprint":"agt_ab0a56fe4095d6273efecf83","simulated":true},{"name":"flaky:0.5","fingerprint":"agt_4e4da3d5642c312202d3908b","simulated":true}],"trials":1,"seed":7,"user":"scripted"},"cascade":null,"orders":"both","rubrics":null}','weekly','cancelled','limit reached: max_calls=1 is used up (1 calls asked). 3 of 4 cells are done, tasks in random order, so they are a sample. Go on with a higher limit.',NULL,'a-host',20607,NULL,1,'2026-11-30 14:23:00.720621','2026-11-30 14:23:01.608281','{"max_calls":1}',0,NULL);
INSERT INTO "runs" VALUES('run_0457b2f19b644f54','aud_5111c8236769df788ffd3d1d','probe_judge','{"judges":[{"kind":"gateway","model":"judge-n","role":"judge","profile":null,"planted":null,"simulated":false,"form":"pairwise","language":"en","temperature":0.0,"max_tokens":1024,"prompt":null,"named_prompt":false,"reply_form":{"kind":"json","pattern":null,"labels":[]},"reuse":false,"context_tokens":null,"truncate":null,"rubrics":null,"forced":false}],"rollouts":null,"cascade":null,"orders":"both","rubrics":null}','monthly','cancelled','limit reached: max_calls=3 is used up (3 calls asked). 3 of 4 cells are done, tasks in random order, so they are a sample. Go on with a higher limit.',NULL,'a-host',20607,NULL,1,'2026-11-30 14:23:01.670385','2026-11-30 14:23:01.748077','{"max_calls":3}',0,NULL);
INSERT INTO "runs" VALUES('run_7ea6be166046465a','aud_ca71db65c0ea72387fdfcf6f','score_rubrics','{"judges":[{"kind":"gateway","model":"judge-m","role":"judge","profile":null,"planted":null,"simulated":false,"form":"pairwise","language":"en","temperature":0.0,"max_tokens":1024,"prompt":null,"named_prompt":false,"reply_form":{"kind":"json","pattern":null,"labels":[]},"reuse":false,"context_tokens":null,"truncate":null,"rubrics":null,"forced":false},{"kind":"gateway","model":"judge-m","role":"judge","profile":null,"planted":null,"simulated":false,"form":"pairwise","language":"en","temperature":0.0,"max_tokens":1024,"prompt":null,"named_prompt":false,"reply_form":{"kind":"json","pattern":null,"labels":[]},"reuse":false,"context_tokens":null,"truncate":null,"rubrics":{"kind":"self","name":"self","writer_id":"jdg_9502fd292be8d42ea1f6a8b2","rubric_id":null},"forced":false},{"kind":"gateway","model":"judge-m","role":"judge","profile":null,"planted":null,"simulated":false,"form":"pairwise","language":"en","temperature":0.0,"max_tokens":1024,"prompt":null,"named_prompt":false,"reply_form":{"kind":"json","pattern":null,"labels":[]},"reuse":false,"context_tokens":null,"truncate":null,"rubrics":{"kind":"human","name":"human","writer_id":null,"rubric_id":null},"forced":false}],"rollouts":null,"cascade":null,"orders":"both","rubrics":{"writers":[{"kind":"gateway","model":"judge-m","role":"judge","profile":null,"planted":null,"simulated":false,"form":"rubric_generate","language":"en","temperature":0.0,"max_tokens":1024,"prompt":null,"named_prompt":false,"reply_form":{"kind":"json","pattern":null,"labels":[]},"reuse":false,"context_tokens":null,"truncate":null,"rubrics":null,"forced":false}],"matchers":[{"kind":"gateway","model":"judge-m","role":"judge","profile":null,"planted":null,"simulated":false,"form":"rubric_match","language":"en","temperature":0.0,"max_tokens":1024,"prompt":null,"named_prompt":false,"reply_form":{"kind":"json","pattern":null,"labels":[]},"reuse":false,"context_tokens":null,"truncate":null,"rubrics":null,"forced":false}]}}','by rules','cancelled','limit reached: max_calls=14 is used up (14 calls asked). 10 of 16 cells are done, tasks in random order, so they are a sample. Go on with a higher limit.',NULL,'a-host',20607,NULL,1,'2026-11-30 14:23:01.843295','2026-11-30 14:23:01.971592','{"max_calls":14}',0,NULL);
CREATE TABLE schema_version (
        number INTEGER PRIMARY KEY, program VARCHAR NOT NULL, applied_at VARCHAR NOT NULL
    );
INSERT INTO "schema_version" VALUES(1,'0.1.0','2026-11-30T14:22:59.865608+00:00');
INSERT INTO "schema_version" VALUES(2,'0.1.0','2026-11-30T14:22:59.867478+00:00');
INSERT INTO "schema_version" VALUES(3,'0.1.0','2026-11-30T14:22:59.877196+00:00');
INSERT INTO "schema_version" VALUES(4,'0.1.0','2026-11-30T14:22:59.932371+00:00');
INSERT INTO "schema_version" VALUES(5,'0.1.0','2026-11-30T14:22:59.934549+00:00');
INSERT INTO "schema_version" VALUES(6,'0.1.0','2026-11-30T14:22:59.937439+00:00');
INSERT INTO "schema_version" VALUES(7,'0.1.0','2026-11-30T17:28:34.552506+00:00');
CREATE TABLE task_rubrics (
    audit_id VARCHAR NOT NULL,
    task_id VARCHAR NOT NULL,
    rubric_id VARCHAR NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (audit_id, task_id),
    FOREIGN KEY(audit_id, task_id) REFERENCES tasks (audit_id, task_id),
    FOREIGN KEY(rubric_id) REFERENCES rubric_sets (rubric_id)
);
INSERT INTO "task_rubrics" VALUES('aud_ca71db65c0ea72387fdfcf6f','task of p0','rub_80e46e608bc87a9b2ec0e100','2026-11-30 14:23:01.785493');
INSERT INTO "task_rubrics" VALUES('aud_ca71db65c0ea72387fdfcf6f','task of p1','rub_80e46e608bc87a9b2ec0e100','2026-11-30 14:23:01.785614');
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
INSERT INTO "tasks" VALUES('aud_9c74c0d9546f1fb685a2621f','t1','Book a table.','','',NULL,NULL,NULL,'tsk_e90b30c7bb4858e2bad33ec1','2026-11-30 14:22:59.940958');
INSERT INTO "tasks" VALUES('aud_5111c8236769df788ffd3d1d','query_boot_size','You wear size 43 and want to know whether it is in stock, otherwise from which day on, and the price. You do not want another size and do not order.','The agent tells the customer that size 43 is out of stock, comes back on 2026-03-27 and costs 154.00 dollars. Nothing is ordered.','The agent must not order anything.','query','en',NULL,'tsk_e0c3c6733ed0c7bd23520e3b','2026-11-30 14:23:00.718183');
INSERT INTO "tasks" VALUES('aud_ca71db65c0ea72387fdfcf6f','task of p0','Cancel order 0.','The order is cancelled.','',NULL,NULL,NULL,'tsk_19cbd635f6ea83e230626d3a','2026-11-30 14:23:01.785473');
INSERT INTO "tasks" VALUES('aud_ca71db65c0ea72387fdfcf6f','task of p1','Cancel order 1.','The order is cancelled.','',NULL,NULL,NULL,'tsk_6f000fc1c9c3735dc0f5b154','2026-11-30 14:23:01.785607');
INSERT INTO "tasks" VALUES('aud_772e7225518eaddaefe9f6ae','session','Book a table.','','',NULL,NULL,NULL,'tsk_4931b8f2060fe604ed8b8dcc','2026-11-30 17:28:34.565546');
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
    created_at TIMESTAMP WITH TIME ZONE NOT NULL, seed BIGINT, trouble VARCHAR, flags_json VARCHAR, setup_json VARCHAR, changes_json VARCHAR, occurred_at TIMESTAMP WITH TIME ZONE,
    PRIMARY KEY (trajectory_id),
    FOREIGN KEY(audit_id, task_id) REFERENCES tasks (audit_id, task_id),
    UNIQUE (audit_id, task_id, agent, trial)
);
INSERT INTO "trajectories" VALUES('trj_a623c830738d7f8face05643','aud_9c74c0d9546f1fb685a2621f','t1','x',0,'[{"content":"hi","role":"user"},{"content":"done","role":"assistant"}]',1,NULL,NULL,NULL,NULL,0,'2026-11-30 14:22:59.941007',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "trajectories" VALUES('trj_380e2f981696f5c8f04080ac','aud_9c74c0d9546f1fb685a2621f','t1','y',0,'[{"content":"hi","role":"user"},{"content":"no","role":"assistant"}]',1,NULL,NULL,NULL,NULL,0,'2026-11-30 14:22:59.943223',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "trajectories" VALUES('trj_7f835d2ac1f7250a77bfb315','aud_5111c8236769df788ffd3d1d','query_boot_size','diligent',0,'[{"content":"Do you have the Reef boots in my size, and what do they cost?","role":"user"},{"content":"Which size do you need?","role":"assistant"},{"content":"I wear 43.","role":"user"},{"role":"assistant","tool_calls":[{"arguments":"{\"category\": \"footwear\", \"name\": \"Reef boots\"}","id":"call_2","name":"search_products"}]},{"content":"{\"products\": [{\"sku\": \"BTS-41\", \"name\": \"Reef boots\", \"category\": \"footwear\", \"colour\": \"brown\", \"size\": \"41\", \"weight_grams\": 1180, \"price\": 154, \"clearance\": 0, \"fuel\": 0, \"stock\": 3}, {\"sku\": \"BTS-42\", \"name\": \"Reef boots\", \"category\": \"footwear\", \"colour\": \"brown\", \"size\": \"42\", \"weight_grams\": 1210, \"price\": 154, \"clearance\": 0, \"fuel\": 0, \"stock\": 4}, {\"sku\": \"BTS-43\", \"name\": \"Reef boots\", \"category\": \"footwear\", \"colour\": \"brown\", \"size\": \"43\", \"weight_grams\": 1240, \"price\": 154, \"clearance\": 0, \"fuel\": 0, \"stock\": 0, \"restock_on\": \"2026-03-27\"}, {\"sku\": \"BTS-44\", \"name\": \"Reef boots\", \"category\": \"footwear\", \"colour\": \"brown\", \"size\": \"44\", \"weight_grams\": 1270, \"price\": 154, \"clearance\": 0, \"fuel\": 0, \"stock\": 2}]}","name":"search_products","role":"tool","tool_call_id":"call_2"},{"content":"Reef boots in 43 are sold out at the moment and come back on March 27, 2026. They are 154 dollars. Sizes 42 and 44 are here now.","role":"assistant"},{"content":"Thank you, that is all.","role":"user"}]',3,'finished',NULL,NULL,NULL,1,'2026-11-30 14:23:01.031476',1661942833,NULL,NULL,'{"agent":{"kind":"scripted","policy":"diligent"},"language":"en","seed":7,"skill":1.0,"suite":"suite_2a309dbdca208e2cfc0b7ea1","user":{"kind":"scripted"}}','{"first":[],"number":0}',NULL);
INSERT INTO "trajectories" VALUES('trj_6853163285bd20258a61e388','aud_5111c8236769df788ffd3d1d','query_boot_size','flaky:0.5',0,'[{"content":"Do you have the Reef boots in my size, and what do they cost?","role":"user"},{"content":"Which size do you need?","role":"assistant"},{"content":"I wear 43.","role":"user"},{"role":"assistant","tool_calls":[{"arguments":"{\"category\": \"footwear\", \"name\": \"Reef boots\"}","id":"call_2","name":"search_products"}]},{"content":"{\"products\": [{\"sku\": \"BTS-41\", \"name\": \"Reef boots\", \"category\": \"footwear\", \"colour\": \"brown\", \"size\": \"41\", \"weight_grams\": 1180, \"price\": 154, \"clearance\": 0, \"fuel\": 0, \"stock\": 3}, {\"sku\": \"BTS-42\", \"name\": \"Reef boots\", \"category\": \"footwear\", \"colour\": \"brown\", \"size\": \"42\", \"weight_grams\": 1210, \"price\": 154, \"clearance\": 0, \"fuel\": 0, \"stock\": 4}, {\"sku\": \"BTS-43\", \"name\": \"Reef boots\", \"category\": \"footwear\", \"colour\": \"brown\", \"size\": \"43\", \"weight_grams\": 1240, \"price\": 154, \"clearance\": 0, \"fuel\": 0, \"stock\": 0, \"restock_on\": \"2026-03-27\"}, {\"sku\": \"BTS-44\", \"name\": \"Reef boots\", \"category\": \"footwear\", \"colour\": \"brown\", \"size\": \"44\", \"weight_grams\": 1270, \"price\": 154, \"clearance\": 0, \"fuel\": 0, \"stock\": 2}]}","name":"search_products","role":"tool","tool_call_id":"call_2"},{"content":"Reef boots in 43 are sold out at the moment and come back on March 27, 2026. They are 154 dollars. Sizes 42 and 44 are here now.","role":"assistant"},{"content":"Thank you, that is all.","role":"user"}]',3,'finished',NULL,NULL,NULL,1,'2026-11-30 14:23:01.031833',1661942833,NULL,NULL,'{"agent":{"kind":"scripted","policy":"flaky","share":0.5},"language":"en","seed":7,"skill":0.5,"suite":"suite_2a309dbdca208e2cfc0b7ea1","user":{"kind":"scripted"}}','{"first":[],"number":0}',NULL);
INSERT INTO "trajectories" VALUES('trj_1ee6165f2ad67cae85d9dd24','aud_ca71db65c0ea72387fdfcf6f','task of p0','left',0,'[{"content":"I cancelled order 0.","role":"assistant"}]',0,NULL,NULL,NULL,NULL,0,'2026-11-30 14:23:01.785528',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "trajectories" VALUES('trj_6310313ea9715e518fe7eedf','aud_ca71db65c0ea72387fdfcf6f','task of p0','right',0,'[{"content":"I could not cancel order 0.","role":"assistant"}]',0,NULL,NULL,NULL,NULL,0,'2026-11-30 14:23:01.785565',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "trajectories" VALUES('trj_ddda2822b4c94f28af27fdb3','aud_ca71db65c0ea72387fdfcf6f','task of p1','left',0,'[{"content":"I cancelled order 1.","role":"assistant"}]',0,NULL,NULL,NULL,NULL,0,'2026-11-30 14:23:01.785628',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "trajectories" VALUES('trj_bb125e211c6e04438857a222','aud_ca71db65c0ea72387fdfcf6f','task of p1','right',0,'[{"content":"I could not cancel order 1.","role":"assistant"}]',0,NULL,NULL,NULL,NULL,0,'2026-11-30 14:23:01.785650',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "trajectories" VALUES('trj_d6f0809784a1e1f7f6aed209','aud_772e7225518eaddaefe9f6ae','session','x',0,'[{"content":"hi","role":"user"},{"content":"done","role":"assistant"}]',1,NULL,NULL,NULL,NULL,0,'2026-11-30 17:28:34.565615',NULL,NULL,NULL,NULL,NULL,'2026-11-03 09:30:00.000000');
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
INSERT INTO "verdicts" VALUES('cell_79483a9919141c88d8b8b86c','aud_9c74c0d9546f1fb685a2621f','jdg_5e927b8c5c79dceb56ed4fc3',NULL,'trj_a623c830738d7f8face05643',NULL,0,'scored',NULL,NULL,NULL,0.9,'',NULL,0,0,0,NULL,NULL,'ver_d78482cf2254567429214a69','2026-11-30 14:22:59.943152');
INSERT INTO "verdicts" VALUES('cell_36ffbe3771bbdb3113382f36','aud_9c74c0d9546f1fb685a2621f','jdg_5e927b8c5c79dceb56ed4fc3',NULL,'trj_380e2f981696f5c8f04080ac',NULL,0,'unscored',NULL,NULL,NULL,NULL,'','refused',0,0,0,NULL,NULL,'ver_d8f8a4c80edb8fdcecbf1ed1','2026-11-30 14:22:59.943253');
INSERT INTO "verdicts" VALUES('cell_e33b3efc7e29971008b5c662','aud_9c74c0d9546f1fb685a2621f','jdg_09cc955cca6644cb6fbc0a6c','p1',NULL,'AB',0,'scored','A',NULL,NULL,NULL,'',NULL,0,0,0,NULL,NULL,'ver_ff998e0279e20fa0cf9c098b','2026-11-30 14:22:59.943675');
INSERT INTO "verdicts" VALUES('cell_1f6bf77c3e246c09ddd1c4be','aud_9c74c0d9546f1fb685a2621f','jdg_09cc955cca6644cb6fbc0a6c','p1',NULL,'BA',0,'unscored',NULL,NULL,NULL,NULL,'','parse_error',0,0,0,NULL,NULL,'ver_94ccf71bd616186a3b711b27','2026-11-30 14:22:59.943688');
INSERT INTO "verdicts" VALUES('cell_4ff4e4a55e90b76b8afdc2d4','aud_9c74c0d9546f1fb685a2621f','jdg_09cc955cca6644cb6fbc0a6c','p2',NULL,'AB',0,'scored','B',NULL,NULL,NULL,'',NULL,0,0,0,NULL,NULL,'ver_7b2c0d3651b6386997ef16a3','2026-11-30 14:22:59.943858');
INSERT INTO "verdicts" VALUES('cell_708b9f118d7c028a8bb3ef56','aud_9c74c0d9546f1fb685a2621f','jdg_b1646839edeff31c35be752a','p1',NULL,'AB',0,'scored','A',NULL,NULL,NULL,'',NULL,0,0,0,NULL,'log_532012cfd1c2d8c257bdae43','ver_ff998e0279e20fa0cf9c098b','2026-11-30 14:22:59.960815');
INSERT INTO "verdicts" VALUES('cell_eeb361a4b1780bde891932e6','aud_9c74c0d9546f1fb685a2621f','jdg_b1646839edeff31c35be752a','p1',NULL,'BA',0,'scored','A',NULL,NULL,NULL,'',NULL,0,0,0,NULL,'log_d4136cae706f09b6c407f52f','ver_ff998e0279e20fa0cf9c098b','2026-11-30 14:22:59.960834');
INSERT INTO "verdicts" VALUES('cell_0379c65906f886e05f390752','aud_9c74c0d9546f1fb685a2621f','jdg_71213f83aa1db21e6d615f4f','p1',NULL,'AB',0,'scored','A',NULL,NULL,NULL,'',NULL,0,0,0,NULL,'log_cb2af68a372e27f5350f6294','ver_ff998e0279e20fa0cf9c098b','2026-11-30 14:22:59.967214');
INSERT INTO "verdicts" VALUES('cell_6bd6df3beee10f843f9a1d20','aud_5111c8236769df788ffd3d1d','jdg_b1646839edeff31c35be752a','query_boot_size#0:diligent|flaky:0.5',NULL,'AB',0,'scored','A',3.0,3.0,NULL,'So it is.',NULL,0,0,0,NULL,'log_7e8401a23a3be3d02809ed23','ver_6df4356492641e682cd50b10','2026-11-30 14:23:01.590562');
INSERT INTO "verdicts" VALUES('cell_a71fd854a46422f51e32dc6b','aud_ca71db65c0ea72387fdfcf6f','jdg_f573c1a6e23b1759c014f075','p0',NULL,'AB',0,'scored','A',4.0,2.0,NULL,'So it is.',NULL,0,0,0,NULL,'log_15b108d9efb905c110bdf371','ver_03fe58b9d84bd9c552a26089','2026-11-30 14:23:01.944334');
INSERT INTO "verdicts" VALUES('cell_5f28805434d1c80d1f5acd9b','aud_ca71db65c0ea72387fdfcf6f','jdg_f573c1a6e23b1759c014f075','p0',NULL,'BA',0,'scored','B',2.0,4.0,NULL,'So it is.',NULL,0,0,0,NULL,'log_8963abd3388a47df545277bc','ver_5cd7445b11ea37daef098bfa','2026-11-30 14:23:01.949401');
INSERT INTO "verdicts" VALUES('cell_5563e6f49e15f9592562c281','aud_ca71db65c0ea72387fdfcf6f','jdg_7388d74ff36fe2ae187a38bd','p0',NULL,'AB',0,'scored','A',3.0,3.0,NULL,'So it is.',NULL,0,0,0,NULL,'log_35cebbbe2e23d7eef06606d2','ver_6df4356492641e682cd50b10','2026-11-30 14:23:01.951785');
INSERT INTO "verdicts" VALUES('cell_0935686a152be25c1bf5a2c6','aud_ca71db65c0ea72387fdfcf6f','jdg_7388d74ff36fe2ae187a38bd','p0',NULL,'BA',0,'scored','B',3.0,3.0,NULL,'So it is.',NULL,0,0,0,NULL,'log_e74024d35ce9800ef76d6ffd','ver_e6c33bf424a9456b61b354bf','2026-11-30 14:23:01.953334');
INSERT INTO "verdicts" VALUES('cell_6dc33b2e54ed93e9d8820351','aud_ca71db65c0ea72387fdfcf6f','jdg_359b77bc01f645450ceeaca4','p0',NULL,'AB',0,'scored','A',4.0,2.0,NULL,'So it is.',NULL,0,0,0,NULL,'log_3b2a2b5605ac71dd82c12187','ver_03fe58b9d84bd9c552a26089','2026-11-30 14:23:01.954949');
INSERT INTO "verdicts" VALUES('cell_f799618c4c831e7642a5c079','aud_ca71db65c0ea72387fdfcf6f','jdg_359b77bc01f645450ceeaca4','p0',NULL,'BA',0,'scored','B',2.0,4.0,NULL,'So it is.',NULL,0,0,0,NULL,'log_b3b8d3b14860481cc0557d9a','ver_5cd7445b11ea37daef098bfa','2026-11-30 14:23:01.956597');
CREATE INDEX judge_logs_by_cell ON judge_logs (cell_id);
CREATE INDEX judge_logs_by_pair ON judge_logs (audit_id, pair_id);
CREATE INDEX judge_logs_by_trajectory ON judge_logs (trajectory_id);
CREATE INDEX checks_by_trajectory ON checks (trajectory_id);
CREATE INDEX pairs_by_trajectory_a ON pairs (trajectory_a);
CREATE INDEX pairs_by_trajectory_b ON pairs (trajectory_b);
CREATE INDEX gold_labels_by_pair ON gold_labels (audit_id, pair_id);
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
CREATE INDEX judge_logs_by_reply ON judge_logs (reply_key) WHERE reply_key IS NOT NULL;
CREATE INDEX cells_by_seq ON cells (run_id, seq);
CREATE INDEX judge_logs_by_run ON judge_logs (
    run_id, role, attempt, error, cached_from, cell_id, input_tokens, output_tokens, est_cost, created_at
);
CREATE INDEX verdicts_by_time ON verdicts (audit_id, created_at);
CREATE INDEX verdicts_unscored ON verdicts (audit_id) WHERE status = 'unscored';
CREATE INDEX trajectories_by_time ON trajectories (audit_id, created_at);
CREATE INDEX planned_pairs_by_trajectory_a ON planned_pairs (run_id, trajectory_a);
CREATE INDEX planned_pairs_by_trajectory_b ON planned_pairs (run_id, trajectory_b);
CREATE INDEX trajectories_simulated ON trajectories (audit_id, trajectory_id, simulated) WHERE simulated;
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
CREATE INDEX probe_verdicts_by_pair ON probe_verdicts (audit_id, judge_id, pair_id);
CREATE INDEX probe_verdicts_by_time ON probe_verdicts (audit_id, created_at);
CREATE INDEX probe_verdicts_unscored ON probe_verdicts (audit_id) WHERE status = 'unscored';
CREATE INDEX rubric_names_by_name ON rubric_names (name);
CREATE INDEX rubric_drafts_by_task ON rubric_drafts (audit_id, task_id, writer_id);
CREATE INDEX rubric_drafts_by_time ON rubric_drafts (audit_id, created_at);
CREATE INDEX rubric_drafts_unscored ON rubric_drafts (audit_id) WHERE status = 'unscored';
CREATE INDEX rubric_matchings_by_draft ON rubric_matchings (draft_id);
CREATE INDEX rubric_matchings_by_time ON rubric_matchings (audit_id, created_at);
CREATE INDEX rubric_matchings_unscored ON rubric_matchings (audit_id) WHERE status = 'unscored';
CREATE INDEX rubric_rulings_by_judge ON rubric_rulings (audit_id, judge_id);
CREATE INDEX rubric_rulings_by_rubric ON rubric_rulings (rubric_id);
CREATE INDEX verdicts_by_pair
    ON verdicts (audit_id, pair_id, judge_id, order_shown, reduced, status, winner, score_a, score_b);
COMMIT;
