"""What to do about a judge, and why, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

from misjudge_tools.summary.deciding.phrases import Phrase
from misjudge_tools.summary.deciding.recommendations_values import Action

ADVICE: Mapping[Action, Phrase] = {
    "change_judge": Phrase(
        "Change the judge: another model, or another prompt, judged on the same pairs.",
        "更换裁判：换一个模型或提示词，在同样的配对上重新评判。",
    ),
    "lower_weight": Phrase(
        "Lower the judge's weight where the sides are near: decide such pairs by evidence, or abstain.",
        "在双方接近时降低裁判的权重：此类配对按证据判定，或弃权。",
    ),
    "add_rounds": Phrase(
        "Add rounds: ask both orders, more than once, and abstain where the answers contradict each other.",
        "增加轮次：两种顺序都问、重复询问，回答相互矛盾时弃权。",
    ),
    "tighten_rewards": Phrase(
        "Tighten the reward: do not pay for satisfaction alone, require checks of success.",
        "收紧奖励：不要只凭满意度给奖励，必须有成功检查。",
    ),
    "split_roles": Phrase(
        "Split the roles: take a judge of another family than the simulated user's.",
        "分离角色：裁判与模拟用户使用不同家族的模型。",
    ),
    "fix_replies": Phrase(
        "Fix the replies: look at those that cannot be read, and change the prompt or the form of reply.",
        "修复回复：查看无法读取的回复，修改提示词或回复格式。",
    ),
    "guard_against": Phrase(
        "Guard against what fools it: strip or normalise it before judging, or use a judge that it does not move.",
        "防范误导：评判前去除或规范化这些因素，或换用不受其影响的裁判。",
    ),
    "decide_the_rest": Phrase(
        "Decide the pairs that the judge leaves open by evidence or by another judge.",
        "裁判未判定的配对按证据或由另一个裁判判定。",
    ),
    "more_pairs": Phrase(
        "Collect more pairs before you decide.",
        "先收集更多配对再做决定。",
    ),
    "label_pairs": Phrase(
        "Have people label a random sample of the pairs, or add checks of success.",
        "请人工标注随机抽取的配对，或加入成功检查。",
    ),
    "keep": Phrase(
        "Keep the judge for pairs like these, and audit it again when its model, prompt or tasks change.",
        "此类配对可继续使用该裁判；模型、提示词或任务变化时重新审计。",
    ),
}
WRONG = Phrase("It picked {worse} in {wrong}.", "它选中了{worse}：{wrong}。")
CONSTANT = Phrase(
    "It named the side shown {place} in {k} of {n} answers.", "{n} 个回答中有 {k} 个选了{place}展示的一方。"
)
NEAR_WIDE = Phrase("Near: {near}; wide: {wide}.", "接近：{near}；差距大：{wide}。")
TURNS = Phrase("It changes sides with the order in {flips}.", "交换顺序后它改变立场：{flips}。")
SATISFIED = Phrase(
    "Of those it is satisfied with, {failed} failed; of all sessions, {base}.",
    "它满意的会话中失败的有：{failed}；全部会话中失败的有：{base}。",
)
UNREAD = Phrase("It cannot be read in {unread}.", "无法读取：{unread}。")
FOOLED = Phrase("Its verdict moves with: {probes}.", "以下改动会影响它的结论：{probes}。")
OPEN = Phrase("{wrong}: the interval holds the limit of {limit}.", "{wrong}：区间包含 {limit} 的上限。")
ONE_SIDED = Phrase(
    "Side {side} is better in nearly all pairs, and no pair was asked in both orders.",
    "几乎所有配对都是 {side} 方更好，且没有配对以两种顺序询问。",
)
DECIDED = Phrase(
    "It decides {decided} of the decidable pairs, {n} of them.", "它判定了 {decided} 的可判定配对（{n} 个）。"
)
NO_GOLD = Phrase("Of no pair is it known which side was better.", "没有任何配对知道哪一方更好。")
WITHIN = Phrase("{wrong}: within the limit of {limit}.", "{wrong}：在 {limit} 的上限之内。")
