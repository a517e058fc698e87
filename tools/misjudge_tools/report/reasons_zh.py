"""The sentences of a summary in Chinese: why something is missing, what to know of a gap, what is made up."""

from __future__ import annotations

from collections.abc import Mapping

JUDGING: Mapping[str, str] = {
    "There are several judges or subsets: see each under judges, or choose one with judge=LABEL.": (
        "有多个裁判或子集：见 judges 下各项，或用 judge=LABEL 选择一个。"
    ),
    "No judge is stored.": "没有存储裁判。",
    "Judge the audit, or import verdicts.": "请评判此审计，或导入判定。",
    "No pair has both orders scored, so flips cannot be seen.": "没有配对两种顺序都有评判，看不出翻转。",
    "Judge with orders=both (--orders both) to see them.": "请用 orders=both（--orders both）评判。",
    "Given once, at the top of a summary of all judges.": "只在全部裁判的摘要顶部给出一次。",
    "The agents stand once, at the top.": "智能体只在顶部列出一次。",
    "Their satisfaction by this judge: choose it with judge=LABEL.": "此裁判对它们的满意：用 judge=LABEL 选择它。",
    "A panel is two judges of pairs or more: judge the pairs with another one, too.": (
        "评审团需要两个以上的配对裁判：请再用另一个裁判评判这些配对。"
    ),
    "The panel stands at the top of a summary of all judges.": "评审团见全部裁判的摘要顶部。",
    "Rubrics stand at the top of a summary of all judges.": "评分细则见全部裁判的摘要顶部。",
    "There are several agents: see pass_hat_k_by_agent.": "有多个智能体：见 pass_hat_k_by_agent。",
    "Given for the judge as a whole, not by subset.": "只对整个裁判给出，不分子集。",
    "No satisfaction was judged.": "没有评判满意度。",
    "Judge with form=satisfaction, gate or proxy, or import scores of trajectories.": (
        "请用 form=satisfaction、gate 或 proxy 评判，或导入会话的评分。"
    ),
    "No gate was judged (form=gate).": "没有评判门控（form=gate）。",
    "No proxy was judged (form=proxy).": "没有评判代理指标（form=proxy）。",
    "No response was judged by rules alone (misjudge rubrics apply).": (
        "没有仅按细则评判的回复（misjudge rubrics apply）。"
    ),
    "No gap is known: it needs graded rewards (three values or more), the judge's scores, or near and wide as declared "
    "by the pairing.": "差距未知：需要分级奖励（三个以上的取值）、裁判的评分，或配对时声明的 near 与 wide。",
    "This judge judged no pair.": "此裁判没有评判配对。",
    "Judge pairs (form=pairwise), or import verdicts.": "请评判配对（form=pairwise），或导入判定。",
    "No pair is decidable: gold must say that A or B was better.": "没有可判定的配对：答案须说明 A 或 B 更好。",
    "Import labels, success or rewards.": "请导入标注、成功与否或奖励。",
    "Import labels, success or rewards, and judge.": "请导入标注、成功与否或奖励，再评判。",
    "No verdict is stored.": "没有存储判定。",
    "No verdict is stored, so there is nothing to release.": "没有存储判定，因此没有可发布的。",
    "No pair is stored.": "没有存储配对。",
    "Import pairs, or run them.": "请导入或运行配对。",
    "No call is logged and no episode states its tokens.": "没有调用记录，也没有会话说明令牌数。",
    "Nothing can contradict this judge: no pair with a pick has evidence, and no score of an episode with a known "
    "outcome has a threshold.": "没有什么能反驳此裁判：作出选择的配对没有证据，已知结果的会话的评分没有阈值。",
    "Import labels or success, or judge satisfaction.": "请导入标注或成功与否，或评判满意度。",
    "Nothing of this judge is known from which a recommendation would follow.": "对此裁判所知不足，得不出建议。",
    "This judge was not probed.": "没有探测此裁判。",
    "Call probe_judge, or: misjudge probe AUDIT --judge JUDGE": (
        "请调用 probe_judge，或：misjudge probe AUDIT --judge JUDGE"
    ),
    "No rubric was written or applied.": "没有撰写或应用评分细则。",
    "Call score_rubrics, or misjudge rubrics gap.": "请调用 score_rubrics，或 misjudge rubrics gap。",
    "Rubric work was planned, and nothing of it is stored yet.": "细则工作已计划，尚无存储的结果。",
    "See runs.": "见 runs。",
    "No pair was judged by all of these judges.": "没有由所有这些裁判都评判过的配对。",
    "Choose others with panel=[…] (--panel LABEL), or judge more pairs.": (
        "请用 panel=[…]（--panel LABEL）另选裁判，或评判更多配对。"
    ),
    "None of these judges decided a decidable pair.": "这些裁判都没有对可判定的配对作出判定。",
    "No scores, or none on a known scale, were given by {judges}.": "{judges} 没有给出评分，或评分没有已知的量程。",
    "SIMULATED: made up by a simulated judge, no real model was asked": "SIMULATED：由模拟裁判编造，没有询问真实模型",
    "SIMULATED: scripted or simulated agents and customers made these episodes": (
        "SIMULATED：会话由脚本或模拟的智能体与顾客生成"
    ),
    "Judge {judge} named the side shown first in {k} of {n} answers: that is position bias, and says nothing of the "
    "sides.": "裁判 {judge} 在 {n} 次回答中 {k} 次选先展示的一方：这是位置偏差，与双方内容无关。",
    "Judge {judge} named the side shown second in {k} of {n} answers: that is position bias, and says nothing of the "
    "sides.": "裁判 {judge} 在 {n} 次回答中 {k} 次选后展示的一方：这是位置偏差，与双方内容无关。",
    "Judge {judge} named the side shown first in {k} of {n} answers: that is position bias, and its accuracy of "
    "{share} ({right} of {calls} calls) is that of a constant answer, not a skill.": (
        "裁判 {judge} 在 {n} 次回答中 {k} 次选先展示的一方：这是位置偏差；其准确率 {share}（{calls} 次调用中 {right} "
        "次）只是固定答案的准确率，不是能力。"
    ),
    "Judge {judge} named the side shown second in {k} of {n} answers: that is position bias, and its accuracy of "
    "{share} ({right} of {calls} calls) is that of a constant answer, not a skill.": (
        "裁判 {judge} 在 {n} 次回答中 {k} 次选后展示的一方：这是位置偏差；其准确率 {share}（{calls} 次调用中 {right} "
        "次）只是固定答案的准确率，不是能力。"
    ),
    "Run {run} ended before its plan was done ({how}): {open} of its {all} cells are open.": (
        "运行 {run} 未完成计划就结束（{how}）：{all} 个单元中有 {open} 个未完成。"
    ),
    "Go on with it: runs resume {run}.": "继续：runs resume {run}。",
}
GAPS: Mapping[str, str] = {
    "No gap can be compared: it takes decidable pairs of agents that are near and of agents that are wide apart "
    "(ability_bucket or reward_gap with gap_source=ability), graded rewards, or scores of the judge.": (
        "没有可比较的差距：需要智能体接近与差距大的可判定配对（ability_bucket，或 reward_gap 加 gap_source=ability）、"
        "分级奖励或裁判的评分。"
    ),
    "There are no decidable pairs of both near and wide agents.": "可判定的配对中没有同时包含接近与差距大的智能体。",
    "Declare ability_bucket when pairing, or import reward_gap with gap_source=ability.": (
        "请在配对时声明 ability_bucket，或导入 reward_gap 加 gap_source=ability。"
    ),
    "There are no decidable pairs with both small and large reward gaps, or rewards take fewer than three values.": (
        "可判定的配对中没有同时包含小与大的奖励差距，或奖励的取值少于三个。"
    ),
    "Import graded rewards.": "请导入分级奖励。",
    "There are no decidable pairs with both small and large gaps of the judge's scores.": (
        "可判定的配对中没有同时包含裁判评分差距小与大的。"
    ),
    "Ask a judge that gives scores to both sides.": "请询问给双方评分的裁判。",
    "The near pairs or the others are of a single task, which says nothing of other tasks: no interval and no test.": (
        "接近的配对或其余配对只属于一个任务，不能说明其他任务：没有区间，也没有检验。"
    ),
    "Judge pairs of more tasks.": "请评判更多任务的配对。",
    "Circular: the gap is that of the judge's own scores, so it says where the judge is unsure, not what is hard.": (
        "循环：差距取自裁判自己的评分，只说明裁判在哪里没把握，不说明什么难。"
    ),
    "Near and wide are as declared with the pairs.": "接近与差距大按配对所声明。",
    "No standard error of the gaps is stored, so which pairs lie too close to the cut to be sorted is not known.": (
        "没有存储差距的标准误，因此不知道哪些配对离分界太近而无法归类。"
    ),
    "The gap is that of the two episodes' own rewards.": "差距取自两个会话自己的奖励。",
    "They have no standard error, so which pairs lie too close to the cut is not known.": (
        "它们没有标准误，因此不知道哪些配对离分界太近。"
    ),
    "Check whether tasks are too easy or too hard to tell sides apart: {wrong} of {calls} calls are wrong, and in "
    "{alike} of {known} pairs of known gold both sides did equally well.": (
        "检查任务是否太易或太难而分不出双方：{calls} 次调用中 {wrong} 次错误，{known} 个已知答案的配对中 {alike} "
        "个双方同样好。"
    ),
    "Check whether rewards are too coarse to tell near from wide.": "检查奖励是否太粗，分不出接近与差距大。",
    "Check whether rewards are too coarse to tell near from wide: they take fewer than three values.": (
        "检查奖励是否太粗，分不出接近与差距大：其取值少于三个。"
    ),
    "Check whether the judge saw names of agents or models, which it may go by whatever the gap.": (
        "检查裁判是否看到智能体或模型的名称：无论差距如何，它可能据此判断。"
    ),
    "Fewer than 5 tasks, here or in the rest: too few to test.": "此处或其余不足 5 个任务：太少，无法检验。",
    "No decidable pair has a scored call, or all have the same category, turns, models and language.": (
        "没有可判定的配对有已评分的调用，或全部的类别、轮数、模型与语言都相同。"
    ),
    "Import what tells them apart.": "请导入能区分它们的信息。",
    "Fewer than two categories are known.": "已知的类别不足两个。",
    "Give tasks a category.": "请为任务注明类别。",
    "The turns of episodes are not known, or all in one band (up to 2, 3-5, 6-10, above 10).": (
        "会话轮数未知，或都在同一档（至多 2、3–5、6–10、10 以上）。"
    ),
    "Fewer than two combinations of base models are known.": "已知的基础模型组合不足两个。",
    "State the base_model of agents.": "请注明智能体的 base_model。",
    "Fewer than two languages are known.": "已知的语言不足两种。",
    "Give tasks a language.": "请为任务注明语言。",
    "Tasks come in fewer than two subsets.": "任务不足两个子集。",
    "No scored call is on a decidable pair, so nothing says how much more it takes.": (
        "可判定的配对上没有已评分的调用，无从得知还需要多少。"
    ),
    "All decidable pairs are of one task, which says nothing of how tasks differ.": (
        "全部可判定的配对属于一个任务，不能说明任务之间的差别。"
    ),
    "A run of this audit may stop by what it has seen, and sizes take the number of pairs as fixed beforehand.": (
        "此审计的运行可能依所见而停，而样本量以事先固定的配对数为前提。"
    ),
    "The run itself says when enough is known.": "运行本身会说明何时已知足够。",
    "The rate seen is not below the limit.": "所见的错误率不低于上限。",
    "The rate seen is not above the limit.": "所见的错误率不高于上限。",
    "It would take more than ten million pairs, since the rate seen is next to the limit.": (
        "所见的错误率紧邻上限，需要一千万以上的配对。"
    ),
}
RULES: Mapping[str, str] = {
    "No pair was asked in both orders: judge with orders=both (--orders both).": (
        "没有配对以两种顺序询问：请用 orders=both（--orders both）评判。"
    ),
    "No order was asked twice: judge with repeats=2 (--repeats 2) or more.": (
        "没有顺序询问过两次：请用 repeats=2（--repeats 2）或更多评判。"
    ),
    "No pair that was asked in both orders has scores: judge with a prompt that asks for them, or import them.": (
        "以两种顺序询问的配对没有评分：请用要求评分的提示词评判，或导入评分。"
    ),
    "Margins need scores of both sides on a stated scale: judge with a prompt that asks for scores, or import score_a "
    "and score_b with their scale (--score-range LOW-HIGH).": (
        "分差需要双方有已知量程的评分：请用要求评分的提示词评判，或导入 score_a 与 score_b 及其量程"
        "（--score-range LOW-HIGH）。"
    ),
    "A run of this audit stopped by what it had seen, and a region and the intervals of policies take the number of "
    "pairs as fixed beforehand: judge without stop to certify one.": (
        "此审计的一次运行依所见而停，而可信区间与规则的区间以事先固定的配对数为前提：要证实，请不设 stop 评判。"
    ),
    "No call of a judge that the rule asks has a known price: state prices in misjudge.toml before judging, or import "
    "the cost of calls.": "规则所询问的裁判没有价格已知的调用：请在评判前于 misjudge.toml 注明价格，或导入调用的成本。",
    "There is no other judge of pairs: judge the pairs with another one, too (--panel MODEL).": (
        "没有其他配对裁判：请再用另一个裁判评判（--panel MODEL）。"
    ),
    "Stands in the summary of one judge: choose it with judge=LABEL (--judge LABEL).": (
        "见单个裁判的摘要：用 judge=LABEL（--judge LABEL）选择。"
    ),
    "No pair was judged by this judge and all others of the panel.": "没有由此裁判与评审团其他成员都评判过的配对。",
    "No cascade with this judge first was run (cascade=true, --cascade), and only where just two judges judged the "
    "same pairs it can be worked out from what is stored.": (
        "没有以此裁判为首的级联运行（cascade=true，--cascade）；只有恰好两个裁判评判同样的配对时，才能由存储推算。"
    ),
    "Only one labels the pairs: judge them with another judge, or import labels of people (gold_labels).": (
        "只有一方标注了配对：请用另一个裁判评判，或导入人工标注（gold_labels）。"
    ),
    "No two labellers labelled the same pairs, and no two judges scored the same.": (
        "没有两位标注者标注过同样的配对，也没有两个裁判评过同样的分。"
    ),
    "No two labellers labelled the same pairs.": "没有两位标注者标注过同样的配对。",
    "No two labellers (annotators, or judges by what they decide) labelled the same pairs.": (
        "没有两位标注者（人工，或按其判定的裁判）标注过同样的配对。"
    ),
    "No two people labelled the same pair: have some pairs labelled by two.": (
        "没有两人标注过同一配对：请让两人标注一部分配对。"
    ),
    "Only one judge of pairs: judge the pairs with another one, too.": "只有一个配对裁判：请再用另一个裁判评判。",
    "No two judges decided the same pair of known gold.": "没有两个裁判判定过同一个已知答案的配对。",
    "No two judges of one form, on scales that are known, scored the same.": (
        "没有两个同一形式、量程已知的裁判给同样的会话评分。"
    ),
    "Of two of the judges no correlation of errors is known: they decided no pair in common, or one of them is never "
    "(or always) wrong there.": (
        "有两个裁判的错误相关未知：它们没有共同判定的配对，或其中一个在那里从不（或总是）出错。"
    ),
    "The judge has {n} couples, too many beside those of other judges: choose it (judge=LABEL) to see them.": (
        "此裁判有 {n} 对，与其他裁判的并列太多：用 judge=LABEL 选择它。"
    ),
    "There are {n} labellers; choose one judge to see its agreement with each.": (
        "共有 {n} 位标注者：请选择一个裁判，看它与每一位的一致。"
    ),
    "There are {n} labellers, so people are not set beside each other one by one.": (
        "共有 {n} 位标注者，因此不逐一对照人工之间的一致。"
    ),
}
BIAS: Mapping[str, str] = {
    "The source does not say which side was shown first.": "来源没有说明哪一方先展示。",
    "Judge the pairs with orders=both.": "请用 orders=both 评判配对。",
    "No episode states its output tokens or keeps its messages: import them with their messages.": (
        "没有会话说明输出令牌或保留消息：请连同消息导入。"
    ),
    "No pair with a pick has two episodes of known, different length.": (
        "作出选择的配对中没有长度已知且不同的两个会话。"
    ),
    "No reply holds reasons.": "没有回复含理由。",
    "Judge with a prompt that asks for them, as the ones of this tool do.": (
        "请用要求理由的提示词评判，如本工具自带的。"
    ),
    "No reply scores both sides.": "没有回复给双方评分。",
    "Judge with a prompt that asks for scores, or import them.": "请用要求评分的提示词评判，或导入评分。",
    "No pair with a pick has two known rewards that differ.": "作出选择的配对中没有两个已知且不同的奖励。",
    "Import rewards, or verify the episodes.": "请导入奖励，或检查会话。",
    "Nothing was asked twice in the same order.": "没有以同样的顺序询问过两次。",
    "Judge with repeats of 2 or more.": "请用 2 次以上的重复评判。",
    "Too few decidable pairs of unequal length: the odds need right and wrong picks where the longer side was the "
    "better one, and where the shorter one was.": (
        "长度不同的可判定配对太少：优势比需要在较长一方更好与较短一方更好两种情形下都有对与错的选择。"
    ),
    "No reply with reasons is on a decidable pair.": "含理由的回复都不在可判定的配对上。",
    "No judge of another family judged these pairs: judge them with one, too.": (
        "没有其他系列的裁判评判这些配对：请也用一个评判。"
    ),
    "The family of this judge's model is not known.": "此裁判模型的系列未知。",
    "State it in its profile: family in misjudge.toml.": "请在其配置中注明：misjudge.toml 的 family。",
    "No pair has one side by a model of the judge's own family and one of another known family: state base models, and "
    "pair such agents.": "没有一方为裁判同系列模型、另一方为其他已知系列的配对：请注明基础模型，并配对这样的智能体。",
}
SESSIONS: Mapping[str, str] = {
    "This judge scored no session.": "此裁判没有给会话评分。",
    "See the judges that did, or judge with form=satisfaction.": "请看评过分的裁判，或用 form=satisfaction 评判。",
    "No session is stored.": "没有存储会话。",
    "Import sessions, or run agents on a suite.": "请导入会话，或让智能体运行任务集。",
    "Two of the three must be known of the same sessions: a satisfaction score with a threshold, success, and what a "
    "person says of it.": "同一批会话须知道三者中的两个：有阈值的满意度评分、成功与否、人工的说法。",
    "Import a table with --per-response, a score with --scale, and columns success, human and time.": (
        "请用 --per-response 导入表格，用 --scale 注明评分，并有 success、human 与 time 列。"
    ),
    "Satisfaction is not known: no threshold of its scores is stated.": "满意与否未知：没有说明评分的阈值。",
    "Import them with --scale LOW-HIGH:THRESHOLD.": "请用 --scale LOW-HIGH:THRESHOLD 导入。",
    "From which score on this judge is satisfied is not known.": "不知道此裁判从哪个评分起算满意。",
    "Import its scores with --scale LOW-HIGH:THRESHOLD.": "请用 --scale LOW-HIGH:THRESHOLD 导入其评分。",
    "No session has a satisfaction score.": "没有会话有满意度评分。",
    "Judge with form=satisfaction, or import scores.": "请用 form=satisfaction 评判，或导入评分。",
    "Of no session do checks say whether it did its task.": "没有检查说明任何会话是否完成任务。",
    "Import success, or run agents on a suite.": "请导入成功与否，或让智能体运行任务集。",
    "Of no session does a person say whether it did its task.": "没有人说明任何会话是否完成任务。",
    "Import labels of some (role human).": "请导入一部分标注（角色 human）。",
    "Success is known of the sides that a judge picked, as a replay tells it, and not of all: whether satisfaction may "
    "be taken for success does not follow from these.": (
        "只知道裁判所选一方是否成功（来自回放），不是全部：由此得不出满意能否当作成功。"
    ),
    "Success and satisfaction of a replay are those of the sides that were picked: the success of agents, and "
    "satisfaction against success, are of picked sides and not of all.": (
        "回放的成功与满意只属于被选中的一方：智能体的成功率、满意与成功的对照都只按被选中的一方计，不是全部。"
    ),
    "A file of the format pairs (export audit_pairs) tells both sides.": "pairs 格式的文件（导出 audit_pairs）含双方。",
    "This judge was satisfied with no session of known success, so nothing can be said of it.": (
        "此裁判对已知成功与否的会话都不满意，因此无从判断。"
    ),
    "Ranking needs at least {fewest} agents with a reward and a gate score, not {n}.": (
        "排序至少需要 {fewest} 个有奖励与门控分的智能体，现有 {n} 个。"
    ),
    "Intervals need at least {fewest} agents, not {n}.": "区间至少需要 {fewest} 个智能体，现有 {n} 个。",
    "The base model of each agent must be stated (base_model) to tell pairs across models.": (
        "须注明每个智能体的基础模型（base_model），才能分出跨模型的配对。"
    ),
    "No agent has numbered trials with a known outcome.": "没有智能体有编号且结果已知的试验。",
    "No session took place from {since} on.": "自 {since} 起没有会话。",
    "Name an earlier date.": "请给出更早的日期。",
}
LABELS: Mapping[str, str] = {
    "Nothing stored says how the labelled ones were chosen: they are taken as a random sample.": (
        "没有记录说明如何挑选被标注者：视为随机样本。"
    ),
    "If they were chosen for being hard, disputed or of one kind, the corrected shares are wrong; compare raw_labelled "
    "with raw_unlabelled.": (
        "若因困难、有争议或属某一类而挑选，校正后的比例就是错的；请比较 raw_labelled 与 raw_unlabelled。"
    ),
    "{k} of the {n} decidable pairs of this audit are decidable only by labels of pairs that reviews chose for looking "
    "suspicious: every rate that counts them is of a picked sample and not of all pairs.": (
        "此审计的 {n} 个可判定配对中有 {k} 个只凭因可疑而被挑选的配对的标注才可判定：计入它们的比率都来自挑选的样本，"
        "不代表全部配对。"
    ),
    "A gate leaves them out, and the section corrected rests on the pairs that were drawn at random: label more of "
    "these (--only random).": (
        "gate 不计入它们，corrected 只依据随机抽取的配对：请多标注随机抽取的配对（--only random）。"
    ),
    "The labelled ones are those that reviews drew at random.": "被标注者为审阅时随机抽取。",
    "Those chosen for being informative count as unlabelled.": "因信息量而挑选的按未标注计。",
    "No model checked the success of an episode, so no success rate rests on one.": (
        "没有模型检查过会话是否成功，因此没有依赖模型的成功率。"
    ),
    "Success rates that rest on models' checks belong to the audit: see its summary of all judges.": (
        "依赖模型检查的成功率属于整个审计：见全部裁判的摘要。"
    ),
    "No episode that a model checked has a label: have people say of a random sample, 20 or more of each kind, whether "
    "the task was done.": "模型检查过的会话没有标注：请人工判断一个随机样本（每类 20 个以上）是否完成任务。",
    "The judge scored no pair of two agents, or only such as labellers disagree on.": (
        "裁判没有评判两个智能体的配对，或只评判了标注者有分歧的。"
    ),
    "Win rates are those of one judge: choose it with judge=LABEL.": "胜率属于单个裁判：用 judge=LABEL 选择。",
    "No pair that the judge scored has a label by people: have a random sample labelled, 20 or more of each kind.": (
        "裁判评判的配对没有人工标注：请标注一个随机样本，每类 20 个以上。"
    ),
    "Gold is known of every pair that the judge scored, so no win rate rests on the judge alone: see misselection.": (
        "裁判评判的每个配对都有已知答案，因此没有只依赖裁判的胜率：见误选。"
    ),
    "Whether the task was done is known of every episode that a model checked, so no rate rests on one.": (
        "模型检查过的每个会话都已知是否完成任务，因此没有依赖模型的比率。"
    ),
    "No baseline is named.": "没有指定基线。",
    "Name an earlier audit of this store to compare with: baseline=AUDIT (--baseline AUDIT).": (
        "请指定此存储中较早的审计作对照：baseline=AUDIT（--baseline AUDIT）。"
    ),
    "This judge judged no pair, so there is nothing to compare.": "此裁判没有评判配对，因此无可比较。",
    "No shared pair is both decidable in both audits and scored by both judges.": (
        "没有在两次审计中都可判定、又由两个裁判都评判的共有配对。"
    ),
    "No compared pair has the same transcripts and the same gold in both audits, so what the judge did cannot be told "
    "from what the agents did.": "没有记录与答案在两次审计中都相同的配对，因此分不清是裁判还是智能体的变化。",
    "Judge pairs of the baseline again: import them into this audit, too.": (
        "请再次评判基线的配对：也把它们导入此审计。"
    ),
    "No shared pair has the same transcripts in both audits.": "没有两次审计中记录相同的共有配对。",
}
COST: Mapping[str, str] = {
    "No call is logged.": "没有调用记录。",
    "No call of an agent or a simulated user has a known cost.": "智能体与模拟用户的调用都没有已知成本。",
    "Of no episode is it known whether it did its task.": "不知道任何会话是否完成任务。",
    "No episode did its task.": "没有会话完成任务。",
    "No decidable pair was decided rightly.": "没有判对的可判定配对。",
    "No call of this judge of pairs has a known cost.": "此配对裁判的调用都没有已知成本。",
    "It is of one judge: see each under judges, or choose one with judge=LABEL.": (
        "它属于单个裁判：见 judges 下各项，或用 judge=LABEL 选择。"
    ),
    "Agents, simulated users and a bill are those of the audit: see its summary of all judges.": (
        "智能体、模拟用户与账单属于整个审计：见全部裁判的摘要。"
    ),
    "No judge's call on a pair or trajectory has a known cost above 0.": (
        "裁判对配对或会话的调用都没有高于 0 的已知成本。"
    ),
    "Nothing was paid.": "没有花费。",
    "No call was made: the cache held all {n} replies.": "没有调用：全部 {n} 个回复都在缓存中。",
    "The cost of {role} is not known.": "{role} 的成本未知。",
    "State the price of its model in misjudge.toml.": "请在 misjudge.toml 注明其模型的价格。",
}
ZH: Mapping[str, str] = {**JUDGING, **GAPS, **RULES, **BIAS, **SESSIONS, **LABELS, **COST}
"""Sentence → Chinese; `{name}` stands for what a sentence is filled in with."""
