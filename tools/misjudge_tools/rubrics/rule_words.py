"""The wording that is looked for in rules, in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final


def _either(*words: str) -> str:
    return f"(?:{'|'.join(words)})"


# ---- one constraint or several

AUXILIARY: Final = _either(
    *("does", "do", "did", "is", "are", "was", "were", "has", "have", "had"),
    *("can", "could", "will", "would", "should", "must", "may"),
)
DO_KIND: Final = frozenset({"does", "do", "did", "can", "could", "will", "would", "should", "must", "may"})
"""Behind these stands what somebody does; behind the other auxiliaries what something is."""
SUBJECT_START: Final = _either("it", "they", "the", "this", "that", "these", "those", "its", "their", "there", "each",
                               "every", "all", "any", "a", "an", "no", "he", "she", "you")  # fmt: skip
_REPLY: Final = _either(
    *("answer", "response", "reply", "solution", "code", "query", "script", "function", "program", "output", "text"),
    *("essay", "explanation", "report", "summary", "email", "letter", "message", "article", "story", "poem", "plan"),
    *("translation", "document", "assistant", "model", "agent", "author", "writer", "speaker", "review", "method"),
)
REPLY: Final = rf"(?:it|they|(?:the|this) (?:[\w-]+ ){{0,2}}?{_REPLY}s?)"
"""What a rule is usually about, as the subject of a sentence."""
SURE_VERBS: Final[Sequence[str]] = (
    *("include", "contain", "mention", "explain", "provide", "describe", "identify", "avoid", "ensure", "keep"),
    *("convert", "handle", "give", "discuss", "recommend", "suggest", "compare", "calculate", "compute", "cite"),
    *("define", "specify", "demonstrate", "maintain", "preserve", "remove", "add", "create", "follow", "refrain"),
    *("acknowledge", "clarify", "justify", "illustrate", "summarize", "summarise", "conclude", "refuse", "decline"),
    *("refer", "recognize", "recognise", "propose", "produce", "generate", "implement", "solve", "verify", "validate"),
    *("respect", "satisfy", "offer", "apply", "choose", "begin", "finish", "consider", "adhere", "comply", "remain"),
    *("omit", "indicate", "express", "prove", "derive", "simplify", "interpret", "take", "write", "send", "warn"),
)
NOUNY_VERBS: Final[Sequence[str]] = (
    *("list", "state", "name", "answer", "report", "address", "point", "support", "order", "limit", "test", "check"),
    *("result", "cause", "note", "link", "cover", "format", "design", "outline", "question", "return", "highlight"),
    *("reference", "end", "start", "match", "account", "rank", "sort", "stop", "store", "call", "cost", "log", "work"),
    *("show", "use", "run", "stay", "print", "read", "close", "open", "present", "correct", "select", "insert"),
    *("delete", "update", "throw", "catch", "compile", "complete", "plan", "review", "direct", "say", "ask", "tell"),
)
"""Verbs that are often something else: they count as verbs before the start of an object only."""
OBJECT_START: Final = _either("a", "an", "the", "that", "how", "why", "whether", "what", "which", "who", "any", "all",
                              "each", "every", "its", "their", "no", "at", "out", "both", "this", "these", "for", "in",
                              "with", "it", "them", r"\d+")  # fmt: skip
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
CLAUSE: Final = re.compile(r"\b(?:to|that|which|who|whom|how|why|whether|what|let|lets|help|helps|make|makes)\b")
"""What begins a clause or an infinitive, which may hold the second of two deeds as well as the first."""
ZH_ASKS: Final = "(?:是否|能否|可否|是不是|能不能|有没有|有无)"
ZH_PREDICATES: Final = _either(
    *(
        "保留",
        "包含",
        "包括",
        "说明",
        "解释",
        "给出",
        "提供",
        "列出",
        "列举",
        "指出",
        "提到",
        "提及",
        "使用",
        "避免",
        "具有",
    ),
    *(
        "符合",
        "遵循",
        "遵守",
        "满足",
        "考虑",
        "处理",
        "支持",
        "明确",
        "完整",
        "准确",
        "正确",
        "简洁",
        "清晰",
        "清楚",
        "易于",
    ),
    *(
        "有效",
        "合理",
        "高效",
        "安全",
        "真实",
        "可行",
        "能够",
        "能",
        "可以",
        "没有",
        "覆盖",
        "体现",
        "强调",
        "分析",
        "描述",
    ),
    *(
        "介绍",
        "总结",
        "回答",
        "输出",
        "返回",
        "保持",
        "采用",
        "运用",
        "引用",
        "标注",
        "注明",
        "建议",
        "提醒",
        "拒绝",
        "承认",
    ),
    *(
        "区分",
        "比较",
        "对比",
        "计算",
        "验证",
        "证明",
        "转换",
        "生成",
        "删除",
        "添加",
        "通顺",
        "流畅",
        "一致",
        "礼貌",
        "客观",
    ),
)
ZH_CAUSES: Final = re.compile("建议|要求|提醒|让|使得|请|帮助|协助|允许|告诉|告知|鼓励|引导|指导|推荐")
"""Behind it stands what somebody else is to do."""
ZH_SAYS: Final = re.compile("说明|指出|解释|提到|提及|强调|承认|表示|认为|证明")
"""Behind it may stand a whole sentence."""
ZH_BINDING: Final = re.compile(
    "如果|假如|倘若|若|当.{0,20}时|的情况下|除非|只有|只要|仅|之前|之后|或|不|没|未|无|[:：]|既"
)

# ---- the level of a rule

HIGH_LEVEL: Final = re.compile(
    r"\b(?:(?:in|un)?feasib(?:le|ly|ility)|infeasibility|impossib(?:le|ly|ility)|workab(?:le|ility)|unworkable|"
    r"viab(?:le|ility)|achievab(?:le|ility)|unachievable|attainable|unattainable|practicab(?:le|ility)|impractical|"
    r"impracticable|unrealistic|realistically|realizable|realisable|doable|"
    r"(?:is|are|be|was|were|it|whether|not|actually|really|technically|physically|logically) possible|"
    r"realistic (?:to|that|about|plan|goals?|timeline|expectations?)|practical(?:ly)? to|in practice|"
    r"(?:can(?:not|'t)?|could(?: not|n't)?) (?:actually|really|fully|ever|always|realistically) be|"
    r"can(?:not|'t) be (?:done|achieved|fully|automated|guaranteed|implemented|converted|reached)|"
    r"(?:inherent|fundamental|technical|practical) (?:limits?|limitations?|constraints?|trade-?offs?)|"
    r"(?:can|could|will|would) (?:actually|really|ever) work|agrees? with (?:itself|each other|one another)|"
    r"contradict(?:s|ed|ing|ion|ions|ory)?|self-contradict\w*|logic(?:al|ally)?(?! (?:operators?|gates?|and|or)\b)|"
    r"illogical|fallac(?:y|ies|ious)|non[- ]sequitur|internal(?:ly)? consisten(?:t|cy)|inconsisten(?:t|cy|cies)|"
    r"self-consisten(?:t|cy)|consisten(?:t|cy) with (?:itself|each other|one another|its own|the premises?)|"
    r"coheren(?:t|ce)|sound (?:reasoning|argument)|valid(?:ity of the)? (?:reasoning|argument|inference))\b|"
    "可行|行得通|行不通|不可能|不现实|切合实际|切实际|不切实|能否实现|可否实现|可实现|无法实现|难以实现|实现不了|无法做到|"
    "做不到|无法(?:完全|全部)|固有(?:限制|局限)|根本(?:限制|局限)|局限性|自洽|矛盾|前后一致|内部一致|前后不一致|"
    "逻辑(?:上|性|一致|自洽|合理|严密|严谨|连贯|清晰|正确|成立|通顺|错误|漏洞|谬误|关系|是否)|符合逻辑|合乎逻辑|不合逻辑|推理(?:是否)?(?:成立|正确|有效|严密)",
    re.IGNORECASE,
)
"""Asks whether an answer can work at all, or agrees with itself."""

# ---- rules of one comparison only

CITES: Final = re.compile(
    # A small "a" behind it is an article: "Is the response a list?"
    r"\b(?:[Rr]esponse|RESPONSE|[Rr]eply|[Cc]ompletion|[Cc]andidate|[Aa]ssistant|[Mm]odel|[Cc]hatbot)s?"
    r"[\s_-]?(?:[AB]|b)(?![\w'’-])|"
    r"\b(?:[Rr]esponse|[Rr]eply|[Cc]ompletion|[Cc]andidate|[Aa]nswer|[Oo]utput|[Aa]ssistant)[\s_-]?[(\[\"'“‘][ab12AB]"
    r"[)\]\"'”’]|\b(?:[Rr]esponse|[Aa]nswer)[_-][ab12]\b|\b(?:[Rr]esponse|[Rr]eply|[Cc]ompletion) [12]\b|"
    r"(?<!correct )(?<!final )(?<!right )(?<!the )\bAnswer [AB]\b(?!')|"
    r"\b(?i:(?:the|than|over|of) (?:other|latter|former) (?:response|answer|reply|completion|candidate|assistant))\b|"
    r"\b(?i:(?:first|second) (?:response|reply|completion|candidate|assistant))\b|"
    r"\b(?i:(?:both|either|neither|two) (?:of the )?(?:responses?|repl(?:y|ies)|completions?|candidates?))\b|"
    "(?:回答|回复|回应|答复|响应|助手|模型|候选|候选回答)[(（“\"'\\s]?(?:[AB12](?![A-Za-z0-9])|[甲乙](?!醇|烷|烯|方|骨文))|"
    "(?:回答|回复|回应|答复)[一二](?=[中的比是与和、，,。？?：:]|$)|"
    "第[一二12]个?(?:回答|回复|回应|答复)|(?:两个|两份|两条|两种|另一个|另一份|前一个|后一个)(?:回答|回复|回应|答复)"
)
"""Names one of the two responses that are compared, by its label or place."""
