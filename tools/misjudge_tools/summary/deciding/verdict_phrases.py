"""The sentences of a verdict, in English and Chinese."""

from __future__ import annotations

from misjudge_tools.summary.deciding.phrases import Phrase

NEAR = {
    "ability": Phrase("agents closer than 0.10", "能力差距小于 0.10 的智能体"),
    "reward": Phrase("responses whose rewards differ by 0.2 or less", "奖励相差不超过 0.2 的回答"),
}
WIDE = {
    "ability": Phrase("agents 0.10 or more apart", "能力差距达到 0.10 的智能体"),
    "reward": Phrase("responses whose rewards differ by more", "奖励相差更大的回答"),
}
WORSE = {
    True: Phrase("the side that failed", "失败的一方"),
    False: Phrase("the side that gold calls worse", "标准答案认为较差的一方"),
}
"""The worse side of a pair, by whether it is known to have failed."""
NO_GOLD = Phrase(
    "Whether this judge is right cannot be said: of no pair is it known which side was better.",
    "无法判断这个裁判是否正确：没有任何配对知道哪一方更好。",
)
FLIPS = Phrase("It changed sides with the order in {flips}.", "交换顺序后它改变立场：{flips}。")
CONSTANT = Phrase(
    "Do not use this judge: it named the side shown {place} in {k} of {n} answers, whatever stood there.",
    "不要使用这个裁判：无论内容如何，{n} 个回答中有 {k} 个选了{place}展示的一方。",
)
NOT_AT_ALL = Phrase(
    "Do not use this judge to choose between responses like these: it picked {worse} in {wrong}.",
    "不要用这个裁判在此类回答之间做选择：它选中了{worse}：{wrong}。",
)
NEITHER = Phrase(
    "Do not use this judge: it picked {worse} in {near} between {near_pairs}, and in {wide} between {wide_pairs}.",
    "不要使用这个裁判：在{near_pairs}之间它选中了{worse}：{near}；在{wide_pairs}之间：{wide}。",
)
NOT_NEAR = Phrase(
    "Do not use this judge to choose between {between}: it picked {worse} in {wrong}.",
    "不要用这个裁判在{between}之间做选择：它选中了{worse}：{wrong}。",
)
USABLE = Phrase(
    "This judge may be used on pairs like these: it picked {worse} in {wrong}, and the upper end is "
    "within the limit of {limit}.",
    "这个裁判可用于此类配对：它选中了{worse}：{wrong}，区间上端在 {limit} 的上限之内。",
)
ABSTAINS = Phrase(
    "This judge decides too little to be used alone: it has a verdict on {decided} of the decidable pairs, {n} of "
    "them; it picked {worse} in {wrong}.",
    "这个裁判判定得太少，不能单独使用：它对 {decided} 的可判定配对（{n} 个）给出了结论；它选中了{worse}：{wrong}。",
)
ONE_SIDED = Phrase(
    "Whether this judge may be used cannot be told: side {side} was better in nearly all pairs and no pair was asked "
    "in both orders, so that always answering {side} would look as good ({wrong} wrong).",
    "无法判断这个裁判能否使用：几乎所有配对都是 {side} 方更好，且没有配对以两种顺序询问，"
    "总是回答 {side} 看起来同样好（错误：{wrong}）。",
)
UNDECIDED = Phrase(
    "Whether this judge may be used is not decided: it picked {worse} in {wrong}, and the interval holds "
    "the limit of {limit}.",
    "这个裁判能否使用尚无定论：它选中了{worse}：{wrong}，区间包含 {limit} 的上限。",
)
UNDECIDED_BY_PICKED = Phrase(
    "Whether this judge may be used cannot be told from these pairs: it picked {worse} in {wrong}, but on the pairs "
    "that nobody picked it may be right or wrong more often.",
    "这些配对无法说明这个裁判能否使用：它选中了{worse}：{wrong}，但在未被挑选的配对上可能更常对或更常错。",
)
PICKED = Phrase(
    "{k} of the {n} decidable pairs are known only by labels of pairs that reviews chose for looking suspicious: every "
    "rate that counts them is of a picked sample.",
    "{n} 个可判定配对中有 {k} 个只凭因可疑而被挑选的配对的人工标注得知：计入它们的比率都来自挑选的样本。",
)
OTHERS_GOOD = Phrase(
    "Between {between} it may be used: {wrong}, within the limit of {limit}.",
    "在{between}之间可以使用：{wrong}，在 {limit} 的上限之内。",
)
OTHERS_BAD = Phrase("Nor between {between}: {wrong}.", "在{between}之间也不要使用：{wrong}。")
OTHERS_OPEN = Phrase(
    "Between {between} it is not decided: {wrong}, and the interval holds the limit of {limit}.",
    "在{between}之间尚无定论：{wrong}，区间包含 {limit} 的上限。",
)
OTHERS_PICKED = Phrase(
    "Between {between} it cannot be told from these pairs: {wrong}, picked ones among them.",
    "在{between}之间无法由这些配对得知：{wrong}，其中有挑选的配对。",
)
COIN = Phrase("Over all pairs it cannot be told from a coin.", "就全部配对而言，无法与抛硬币区分开。")
HELD_BACK = Phrase(
    "It gave no verdict on {undecided}: ties, orders that contradict each other, replies that cannot be read.",
    "它没有给出结论：{undecided}（平局、两种顺序相互矛盾、无法读取的回复）。",
)
WORST_CASE = Phrase(
    "Of {n} decidable pairs it left {k} undecided: were they right, it would misselect {least} of all, were they wrong "
    "{most}.",
    "若 {n} 个可判定配对中未判定的 {k} 个全部正确，误选为 {least}；若全部错误，则为 {most}。",
)
NOT_WORSE = Phrase(
    "Near pairs are not shown to be worse than wide ones; an audit of this size can miss a difference of less than "
    "{smallest}.",
    "没有显示接近的配对比差距大的更差；但这样规模的审计可能看不出小于 {smallest} 的差异。",
)
REGION = Phrase(
    "Under the rule {policy} it is certified: at most {bound} wrong (one-sided 95 % bound), deciding {coverage} of the "
    "decidable pairs.",
    "在规则 {policy} 下通过认证：错误率至多 {bound}（单侧 95 % 上界），能判定 {coverage} 的可判定配对。",
)
NO_REGION = Phrase(
    "Under no rule of abstaining is it certified to stay under {limit}.",
    "没有任何弃权规则能证明其错误率低于 {limit}。",
)
SATISFIED_FAILED = Phrase(
    "Do not take this judge's satisfaction for success: {failed} had failed, and the whole interval is above the limit "
    "of {limit}.",
    "不要把这个裁判的满意当作成功：{failed}实际失败，整个区间高于 {limit} 的上限。",
)
SATISFIED_USABLE = Phrase(
    "This judge's satisfaction may be taken for success in sessions like these: {failed} had failed, and the upper end "
    "is within the limit of {limit}.",
    "在此类会话中可以把这个裁判的满意当作成功：{failed}实际失败，区间上端在 {limit} 的上限之内。",
)
SATISFIED_OPEN = Phrase(
    "Whether this judge's satisfaction may be taken for success is not decided: {failed} had failed, and the interval "
    "holds the limit of {limit}.",
    "能否把这个裁判的满意当作成功尚无定论：{failed}实际失败，区间包含 {limit} 的上限。",
)
BASE = Phrase("Whether it was satisfied or not, {base} had failed.", "无论是否满意，{base}失败。")
BASE_RISK = Phrase(
    "Whether it was satisfied or not, {base} had failed: relative risk {risk}, AUC {auc} (at 1.00 and 0.50 its "
    "satisfaction says nothing of success).",
    "无论是否满意，{base}失败：相对风险 {risk}，AUC {auc}（为 1.00 和 0.50 时，满意与成功无关）。",
)
MORE_SESSIONS = Phrase(
    "About {n} more satisfied sessions like these would tell on which side of {limit} it is.",
    "再有约 {n} 个此类满意会话，就能判断它在 {limit} 的哪一侧。",
)
CHECK_SUCCESS = Phrase(
    "Check success by evidence (verifiers, people) before satisfaction counts, or try another judge on the same "
    "sessions.",
    "在计入满意之前用证据（检查程序、人工）核实成功，或用另一个裁判评判同样的会话。",
)
LABEL = Phrase(
    "Human labels of a random sample of the pairs, or checks of success, would show how often it is wrong.",
    "对随机抽取的配对做人工标注，或加入成功检查，才能知道它多常出错。",
)
DRAWN = Phrase(
    "Labels of pairs that are drawn at random (misjudge label AUDIT --only random) would tell; a gate leaves the "
    "picked ones out.",
    "随机抽取的配对的人工标注（misjudge label AUDIT --only random）可以说明；gate 不计入被挑选的配对。",
)
OPEN_PAIRS = Phrase(
    "Decide the pairs that it leaves open by evidence or by another judge.", "它未判定的配对按证据或由另一个裁判判定。"
)
TURN = Phrase(
    "Ask both orders (--orders both), or import pairs of which either side was better.",
    "两种顺序都问（--orders both），或导入双方各有胜负的配对。",
)
MORE = Phrase(
    "About {n} more decidable pairs like these would tell whether it stays under {limit}.",
    "再有约 {n} 个此类可判定配对，就能判断它是否低于 {limit}。",
)
ANOTHER = Phrase(
    "Another judge model or prompt, judged on the same pairs, would show whether it can be done better.",
    "换用另一个裁判模型或提示词评判同样的配对，可以看出是否能做得更好。",
)
RULE = Phrase(
    "Use it under the rule {policy} only, and decide the other pairs by evidence.",
    "只在规则 {policy} 下使用，其余配对按证据判定。",
)
BY_POSITION = Phrase(
    "Ask both orders and leave out what contradicts itself: position, not content, decides too many pairs.",
    "两种顺序都要问，自相矛盾的弃用：太多配对由位置而非内容决定。",
)
BY_POSITION_OR_NOISE = Phrase(
    "Ask both orders and leave out what contradicts itself: {flips} change with the order, but towards neither place, "
    "which may be noise as well as position. The same asked again tells which (--repeats 2).",
    "两种顺序都要问，自相矛盾的弃用：{flips}随顺序改变，但不偏向任何一个位置，可能是噪声，也可能是位置；"
    "重复询问同样的问题可以分辨（--repeats 2）。",
)
