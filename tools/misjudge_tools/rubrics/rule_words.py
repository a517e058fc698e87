"""The wording that is looked for in rules, in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final


def _either(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


# ---- one constraint or several

AUXILIARY: Final = _either("does do did is are was were has have had can could will would should must may")
DO_KIND: Final = frozenset("does do did can could will would should must may".split())
"""Behind these stands what somebody does; behind the other auxiliaries what something is."""
SUBJECT_START: Final = _either(
    """
    it they the this that these those its their there each every all any a an no he she you
    """
)
_REPLY: Final = _either(
    """
    answer response reply solution code query script function program output text essay explanation report
    summary email letter message article story poem plan translation document assistant model agent author
    writer speaker review method
    """
)
REPLY: Final = rf"(?:it|they|(?:the|this) (?:[\w-]+ ){{0,2}}?{_REPLY}s?)"
"""What a rule is usually about, as the subject of a sentence."""
SURE_VERBS: Final[Sequence[str]] = """
    include contain mention explain provide describe identify avoid ensure keep convert handle give discuss
    recommend suggest compare calculate compute cite define specify demonstrate maintain preserve remove add
    create follow refrain acknowledge clarify justify illustrate summarize summarise conclude refuse decline
    refer recognize recognise propose produce generate implement solve verify validate respect satisfy offer
    apply choose begin finish consider adhere comply remain omit indicate express prove derive simplify
    interpret take write send warn
""".split()
NOUNY_VERBS: Final[Sequence[str]] = """
    list state name answer report address point support order limit test check result cause note link cover
    format design outline question return highlight reference end start match account rank sort stop store call
    cost log work show use run stay print read close open present correct select insert delete update throw
    catch compile complete plan review direct say ask tell
""".split()
"""Verbs that are often something else: they count as verbs before the start of an object only."""
OBJECT_START: Final = _either(
    r"""
    a an the that how why whether what which who any all each every its their no at out both this these for in
    with it them \d+
    """
)
ADJECTIVES: Final = frozenset(
    """
    accessible accurate actionable adequate appropriate atomic authentic balanced bold brief calm careful casual
    clean clear coherent cohesive compact compatible complete comprehensive comprehensible concise concrete consistent
    constructive convincing correct creative credible current deterministic direct easy effective efficient elegant
    empathetic engaging ethical exact exhaustive explicit factual fair faithful feasible flexible fluent focused formal
    free friendly functional grammatical harmless helpful honest idiomatic impartial independent informal informative
    kind lawful legal legible logical maintainable meaningful memorable modest natural neat neutral nonempty numeric
    objective optional ordered original parsable parseable persuasive plausible polite positive possible practical
    precise private professional proper rational readable realistic reasonable recent relevant reliable reproducible
    respectful reversible robust runnable safe secure sensible serious short simple sincere sorted sound specific
    stable sufficient supportive thorough thread-safe timely transparent true truthful typed unambiguous unbiased
    understandable unique up-to-date usable useful valid viable vivid warm well-formed well-structured workable
    invalid incorrect wrong empty unsafe illegal vague
    """.split()
)
BINDING: Final = re.compile(
    r"\b(?:if|unless|when|whenever|while|once|because|since|though|although|provided|providing|assuming|before|after|"
    r"until|without|except|instead|rather|only|both|either|neither|not|never|nor|or|between|than|where)\b|n't\b|:",
    re.IGNORECASE,
)
"""What may hold for both halves of a rule, so that neither half alone says what the rule said."""
_SAYING: Final = "|".join(
    """
    state say mention explain note ensure show prove indicate acknowledge clarify describe demonstrate verify
    recommend suggest propose specify conclude express report answer ask tell warn check consider recognize
    recognise highlight point argue confirm
    """.split()
)
"""Verbs that a clause with "that" follows."""
CLAUSE: Final = re.compile(r"\b(?:to|that|which|who|whom|how|why|whether|what|let|lets|help|helps|make|makes)\b")
"""What begins a clause or an infinitive, which may hold the second of two deeds as well as the first."""
ZH_ASKS: Final = "(?:是否|能否|可否|是不是|能不能|有没有|有无)"
ZH_PREDICATES: Final = _either(
    """
    保留 包含 包括 说明 解释 给出 提供 列出 列举 指出 提到 提及 使用 避免 具有 符合 遵循 遵守
    满足 考虑 处理 支持 明确 完整 准确 正确 简洁 清晰 清楚 易于 有效 合理 高效 安全 真实 可行
    能够 能 可以 没有 覆盖 体现 强调 分析 描述 介绍 总结 回答 输出 返回 保持 采用 运用 引用
    标注 注明 建议 提醒 拒绝 承认 区分 比较 对比 计算 验证 证明 转换 生成 删除 添加 通顺 流畅
    一致 礼貌 客观
    """
)
ZH_CAUSES: Final = re.compile("建议|要求|提醒|让|使得|请|帮助|协助|允许|告诉|告知|鼓励|引导|指导|推荐")
"""Behind it stands what somebody else is to do."""
ZH_SAYS: Final = re.compile("说明|指出|解释|提到|提及|强调|承认|表示|认为|证明")
"""Behind it may stand a whole sentence."""
ZH_BINDING: Final = re.compile(
    "如果|假如|倘若|若|当.{0,20}时|的情况下|除非|只有|只要|仅|之前|之后|或|不|没|未|无|[:：]|既"
)

REFERS: Final = re.compile(
    r"\b(?:it|its|itself|them|themselves|theirs?|they|this|these|him|himself|his|her|hers|herself|he|she|"
    r"former|latter|those(?! (?:who|that|which|with|in|of)\b)|"
    r"(?:of|for|to|in|on|at|by|with|from|about|into|than|like|as|beyond) that|that(?: \w+)?$|"
    r"(?:each|all|both|some|any|none|one|ones|another|others?|so|the (?:same|two|three|rest))$)(?!\w)|"
    rf"^(?!(?:{_SAYING})\b)\w+ that\b",
    re.IGNORECASE,
)
"""Stands for what another half of the rule names; at the start of what is searched stands a verb."""
ZH_REFERS: Final = re.compile(
    "(?<![尤极与])其(?![他它实余])|(?<!其)[它她牠]|(?<![其吉排利])他(?!人)|(?<!应)该|(?<![因彼])此(?!外)|这(?!样)|那(?!么)|"
    "前者|后者|[两二]者|上述|以上"
)

MENTIONS: Final = frozenset(
    """
    with by a an the in no and or of to from for after before like as than use uses using used contain contains
    include includes write writes print prints insert inserts avoid avoids character sign mark symbol letter
    punctuation separator is are be between without only not
    """.split()
)
"""Behind these a mark that stands alone may be what the rule is about."""

# ---- the level of a rule

_FEASIBLE: Final = (
    r"\b(?:(?:in|un)?feasib(?:le|ly|ility)|impossib(?:le|ly|ility)|workab(?:le|ility)|unworkable|viab(?:le|ility)|"
    r"(?:un)?achievable|achievability|(?:un)?attainable|practicab(?:le|ility)|impractical|impracticable|unrealistic|"
    r"realistically|realizable|realisable|doable|"
    r"(?:is|are|be|was|were|it|whether|not|actually|really|technically|physically|logically) possible|"
    r"realistic (?:to|that|about|plan|goals?|timeline|expectations?)|practical(?:ly)? to|"
    r"(?:can(?:not|'t)?|could(?: not|n't)?) (?:actually|really|fully|ever|always|realistically) be|"
    r"can(?:not|'t) be (?:done|achieved|fully|automated|guaranteed|implemented|converted|reached)|"
    r"(?:inherent|fundamental|technical) (?:limits?|limitations?)|"
    r"(?:can|could|will|would) (?:actually|really|ever) work)\b"
)
_ITSELF: Final = r"(?:itself|themselves|each other|one another|its own|their own|the premises?)"
_REASONED: Final = (
    r"(?:reasoning|argumentation|(?<!business )(?<!retry )(?<!application )logic|inference|line of thought)"
)
_SOUND: Final = r"(?:sound|consistent|coherent|valid|conclusive|flawed|circular)"
_LOGICAL: Final = (
    r"\b(?:(?:il)?logical(?:ly)?(?! (?:(?:and|or|not) )?(?:operat(?:ors?|ions?)|gates?|expressions?)\b)"
    r"(?! (?-i:AND|OR|NOT|XOR)\b)|the logic (?:of|is)|"
    rf"{_REASONED}s?\b[^.;?]{{0,40}} (?:in)?{_SOUND}|arguments? (?:\w+ )?(?:sound|coherent|conclusive|circular)|"
    rf"{_SOUND} (?:{_REASONED}|arguments?)|validity of (?:the|its) (?:{_REASONED}|arguments?)|"
    rf"fallac(?:y|ies|ious)|non[- ]sequiturs?|agrees? with {_ITSELF}|self-?contradict\w*|contradictions?|"
    rf"contradictory|contradict(?:s|ed|ing)? {_ITSELF}|internal(?:ly)? (?:in)?consisten(?:t|cy|cies)|"
    rf"self-consisten(?:t|cy)|(?:in)?consisten(?:t|cy) with {_ITSELF})\b"
)
_ZH_FEASIBLE: Final = (
    "可行(?![走驶车])|行得通|行不通|不可能|不现实|切合实际|切实际|不切实|能否实现|可否实现|可实现|无法实现|难以实现|"
    "实现不了|无法做到|做不到|无法(?:完全|全部)|固有(?:限制|局限)|根本(?:限制|局限)"
)
_ZH_LOGICAL: Final = (
    "自洽|(?:自相|前后|相互|互相|彼此|内部|逻辑|存在|没有|无)矛盾|(?:符合|合乎|不合)逻辑|内部(?:不)?一致|"
    "(?<!业务)(?<!代码)(?<!程序)(?<!重试)(?<!处理)(?<!控制)逻辑(?:上|性|"
    "[^，,。；;？?]{0,6}(?:一致|合理|严密|严谨|连贯|清晰|成立|通顺|漏洞|谬误|矛盾))|"
    "(?:观点|论点|论证|内容|叙述|说法|结论|推理|方案|计划|情节|答案|回答|全文)[^，,。；;？?]{0,4}前后(?:不)?一致|"
    "推理(?:是否)?(?:成立|正确|有效|严密)"
)
HIGH_LEVEL: Final = re.compile(f"{_FEASIBLE}|{_LOGICAL}|{_ZH_FEASIBLE}|{_ZH_LOGICAL}", re.IGNORECASE)
"""Asks whether an answer can work at all, or agrees with itself."""

# ---- rules of one comparison only

_LABEL_ENDS: Final = r"(?!\w|-\w|['’](?!s\b))"
_ASKED: Final = rf"(?:^|[.:;?,\"“(] ?)(?i:{AUXILIARY}) "
_SIDE: Final = r"(?:[\"“'‘(]?[AB][\"”'’)]?)"
_ANSWER: Final = "(?:answer|response|reply|completion|output)"
_ZH_ANSWER: Final = "(?:回答|回复|回应|答复|答案)"
_ZH_SIDE: Final = r"(?:(?<![A-Za-z0-9\u3400-\u9fff])|(?<=[比和与跟及]))[AB甲乙]"
_OF_SETS: Final = (
    "(?:impl(?:y|ies)|equals?|contain|divide|follow|depend|commute|disjoint|subsets?|supersets?|independent)"
)
_BETTER: Final = (
    r"(?:better|worse|best|worst|preferred|preferable|more|less|longer|shorter|clearer|simpler|shallower|deeper|"
    r"safer|kinder|nicer|ruder|briefer|stronger|weaker|faster|slower|politer|friendlier|easier|closer|fuller|tidier)"
)
_SIDES: Final = (
    # "Is answer B ok?", but not "Is it answer B?"
    rf"{_ASKED}(?:answer|output) [AB](?= (?!(?:chosen|selected|picked|marked|ticked)\b)[a-z]|['’]s )|"
    rf"(?:{_ASKED}|\b(?:than|as|and|or|does|is) ){_SIDE}['’]s (?:\w+ )?{_ANSWER}s?\b|"
    # "Is "A" longer?" and "Does A beat B?", but not "Does plan A cost less than plan B?"
    rf"{_ASKED}{_SIDE} (?:the |any |much |far |also )?{_BETTER}\b|"
    rf"{_ASKED}{_SIDE} (?![^.;?]*\b{_OF_SETS}\b)[a-z][^.;?]*(?<![\w-]){_SIDE}(?![\w+#*/-])|"
    rf"{_ZH_SIDE}\s?的?{_ZH_ANSWER}|"
    r"(?<!正确)(?<!最终)(?<!标准)(?<!最后)(?<!选择)(?<!正确的)答案\s?[AB甲乙](?=\s?(?:是否|能否|有没有|有无|是不是|的|比|更|和|与))"
)
CITES: Final = re.compile(
    rf"{_SIDES}|"
    # A small "a" behind it is an article: "Is the response a list?"
    r"(?<!each )(?<!every )(?<!any )"
    r"\b(?:[Rr]esponse|RESPONSE|[Rr]eply|[Cc]ompletion|[Cc]andidate|[Aa]ssistant|[Mm]odel|[Cc]hatbot)s?"
    rf"[\s_-]?(?:[AB]|b){_LABEL_ENDS}|"
    r"\b(?:[Rr]esponse|[Rr]eply|[Cc]ompletion|[Cc]andidate|[Oo]utput|[Aa]ssistant|(?<!correct )(?<!final )"
    r"(?<!right )(?<!the )[Aa]nswer)[\s_-]?[(\[\"'“‘][ab12AB][)\]\"'”’]|"
    r"\b(?:[Rr]esponse|[Aa]nswer)[_-][ab12]\b|\b(?:[Rr]esponse|[Rr]eply|[Cc]ompletion) [12]\b|"
    rf"(?<!correct )(?<!final )(?<!right )(?<!the )\bAnswer [AB]{_LABEL_ENDS}|"
    # "Is (A) shorter than (B)?", but not "Is (A) the correct answer?"
    r"\([AB]\)[^.;?]*\bthan \([AB]\)|"
    r"^(?:Is|Does|Has|Can|Did) \([AB]\) (?!the\b|an?\b|(?:correct|chosen|selected|named|given|right|true)\b)|"
    r"\b(?i:(?:the|than|over|of) (?:other|latter|former) (?:response|answer|reply|completion|candidate|assistant))\b|"
    r"\b(?i:(?:first|second) (?:response|reply|completion|candidate|assistant))\b|"
    r"(?<!correct )(?<!right )(?<!final )\b(?i:(?:first|second) answer)\b"
    r"(?! (?:choice|option|key|to|in|of|on|given|listed|is (?:correct|right|true))\b)|"
    r"\b(?i:(?:both|either|neither|two) (?:of the )?(?:responses?|repl(?:y|ies)|completions?|candidates?))\b|"
    "(?:(?<!是否)回答|回复|回应|答复|响应|助手|模型|候选|候选回答)[(（“\"'\\s]?(?:[AB](?![A-Za-z0-9])|"
    "[12](?![A-Za-z0-9.个道次题条种名位点项])|[甲乙](?!醇|烷|烯|方|骨文))|"
    "(?:回答|回复|回应|答复)[一二](?=[中的比是与和、，,。？?：:]|$)|"
    "(?<!正确的)第[一二12]个?(?:回答|回复|回应|答复|答案)|"
    "(?:两个|两份|两条|两种|另一个|另一份|前一个|后一个)(?:回答|回复|回应|答复)"
)
"""Names one of the two responses that are compared, by its label or place."""
