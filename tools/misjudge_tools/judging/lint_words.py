"""The wording that the lint of prompts looks for, in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final


def either(en: Sequence[str], zh: Sequence[str]) -> re.Pattern[str]:
    """One of these: English whole words, in any case, or a Chinese phrase. Each is a pattern."""
    return re.compile(rf"\b(?:{'|'.join(en)})\b|{'|'.join(zh)}", re.IGNORECASE)


_NEAR: Final = "[^.;:]{0,40}"
_NEAR_ZH: Final = "[^。；]{0,16}"
_AGENT: Final = "(?:agent|assistant|representative|bot|chatbot|model)"
_ORDERS: Final = "(?:instructions|commands|requests|orders|prompts|directions)"
_ORDERS_ZH: Final = "(?:指令|命令|要求|指示)"
_NOT_ZH: Final = "(?:不要|不得|不能|不可|不应|不|勿|别)"
_OBEY_ZH: Final = "(?:执行|遵循|听从|服从|理会|遵从|照做|照办|响应|遵守)"
_AGENT_ZH: Final = "(?:客服|助手|代理|对方|智能体|它|他|她)"

TOPICS: Final[Mapping[str, re.Pattern[str]]] = {
    "length": either(
        (
            *("lengths?", "long(?:er|est)?", "lengthy", "short(?:er|est)?", r"verbos\w+", "detail(?:s|ed)?", "depth"),
            *(
                "in[- ]depth",
                r"thorough\w*",
                r"comprehensive\w*",
                r"elaborat\w+",
                r"concis\w+",
                "brevity",
                "word count",
            ),
        ),
        (
            *("篇幅", "长度", "字数", "更长", "较长", "很长", "冗长", "长短", "越长", "详细", "详尽", "细节", "深度"),
            *("深入", "全面", "简洁", "简短", "过短"),
        ),
    ),
    "tone": either(
        (
            *(r"polite\w*", r"court(?:eous|esy)\w*", "tones?", r"friendl\w+", r"empath\w+", r"apolog\w+", "warmth"),
            *("kindness", "manners?", "warm(?:ly)?", "nice(?:ly)?", "professionalism", "engaging", r"enthusias\w+"),
            "confiden(?:t|ce)",
        ),
        (*("礼貌", "语气", "态度", "好听", "友好", "友善", "热情", "客气", "亲切", "道歉", "同理心", "共情", "自信"),),
    ),
    "format": either(
        (
            *("format(?:s|ted|ting)?", "markdown", "bullet(?:s|ed)?", "headings?", "emojis?", "layout", "laid out"),
            *("well[- ](?:structured|organi[sz]ed)", "presentation", "styles?", "stylistic"),
        ),
        ("格式", "排版", "版式", "分点", "表情符号", "条理", "结构清晰", "文采", "文风"),
    ),
}
"""What an answer can have without doing the task."""

CUES: Final = either(
    (
        *(r"prefer\w*", r"reward\w*", r"favou?r\w*", r"credit\w*", "bonus", "points?", "marks?", "scor(?:e|es|ing)"),
        *("rat(?:e|es|ing|ings)", "grad(?:e|es|ing)", "better", "best", "good", "great", "excellent", "ideal"),
        *("perfect", "high(?:er|est)?", "win(?:s|ner)?", "quality", "valued?", r"consider\w*", "factors?", "based on"),
        *("criteri(?:a|on)", "into account", r"assess\w*", r"evaluat\w+", "judg(?:e|ed|ing)", "importan(?:t|ce)"),
        *("should be", "attention", "look (?:at|for)", "matters?", "counts?", r"award\w*", r"compar\w+"),
    ),
    (
        *("加分", "得分", "高分", "分数", "打分", "评分", "奖励", "优先", "更好", "较好", "最好", "偏好", "倾向"),
        *("胜出", "获胜", "考虑", "考察", "评价", "评判", "评估", "比较", "看重", "注重", "关注", "重视", "标准"),
        *("因素", "维度", "方面", "根据", "依据", "重要", "应当", "应该", "越.{1,8}越好", "影响"),
    ),
)
"""Beside a topic: it bears on the verdict."""

_BRIEF: Final = "(?:short|brief|concise|detailed|thorough|comprehensive|in-depth)"
_REASONS: Final = "(?:explanations?|reason(?:s|ing)?|rationale|justifications?)"
OF_ITS_OWN: Final = either(
    (
        rf"{_BRIEF}(?:,? (?:but |and )?\w+)? "
        f"(?:{_REASONS}|analys[ie]s|feedback|comparison|critique|comments?|sentences?)",
        "(?:explain|describe|reason|justify|think|comment|analy[sz]e)"
        r"\b[^.;:]{0,60}?\b(?:in detail|in depth|at length|thoroughly)",
        rf"{_REASONS}\b[^.;]{{0,30}}\b(?:short|brief|concise)",
    ),
    (
        "(?:详细|详尽|全面|深入|简短|简洁|简要)(?:地|的)?(?:说明|解释|理由|分析|阐述|论证|评语)",
        "(?:理由|解释|说明)[^。；]{0,6}(?:简短|简洁)",
    ),
)
"""What is said of the length of the judge's own reply, and not of what it judges."""
OWN_REPLY: Final = either(
    ("output", "reply", "respond", "return", "verdict", "following", "below", "strictly", "exactly", "json", "write"),
    ("输出", "回复", "返回", "如下", "以下", "只回答"),
)
"""Beside a format: it is that of the judge's own reply."""
LACKS: Final = re.compile(
    r"(?:\b(?:not|lack(?:s|ing)?|without|no|too)|n['’]t) (?:\w+ ){0,2}$|(?:不够|不太|缺乏|缺少|没有|过于|过|不)$",
    re.IGNORECASE,
)
"""In front of a topic: there is too little of it."""
LOWER: Final = either(
    ("lower", r"deduct\w*", r"penali[sz]e\w*", "worse", "los(?:e|es)", "fewer", "minus", "mark down", r"reduce\w*"),
    ("扣分", "减分", "低分", "更差"),
)

SHOWN_ONLY: Final = either(
    (
        rf"(?:only|solely|strictly|exclusively|nothing but)\b{_NEAR}{_NEAR}\b"
        "(?:evidence|shown|shows|visible|observable|displayed|documented|transcript|logs?)",
        r"(?:evidence|shown|shows|visible|displayed)\b[^.;]{0,30}\b(?:only|alone)",
        rf"not (?:shown?|visible|displayed|contain(?:ed)?|record(?:ed)?|in the (?:transcript|log))\b{_NEAR}\b"
        "(?:did not|didn['’]t|never|not happen|not done|undone)",
        rf"(?:claims?|promises?|assertions?)\b{_NEAR}\b"
        rf"(?:is|are|as|counts? (?:as|for))\b{_NEAR}\b(?:no|none|not|nothing)",
    ),
    (
        f"(?:只|仅|严格)(?:能|可|需)?(?:看|依据|根据|凭|按|以|基于){_NEAR_ZH}(?:证据|展示|显示|记录|可见|出现|工具|结果|内容)",
        f"(?:没有|未)(?:被)?(?:展示|显示|出现|记录|写出){_NEAR_ZH}(?:视为|视作|算作|算|当作|等于)(?:没|未|不)",
        f"(?:声称|宣称|承诺|自称|嘴上|口头){_NEAR_ZH}(?:不是|不算|不等于|不能作为|并非)",
    ),
)
"""Nothing counts but what is shown."""
ASSUMES: Final = either(
    (
        *(r"assum\w+", r"imagin\w+", r"infer\w*", r"guess\w*", r"presum\w+", r"speculat\w+", r"pretend\w*", "fill in"),
        *("benefit of the doubt", r"take\b[^.;]{0,20}\bfor granted"),
        rf"(?:credit|count|accept|trust)\b{_NEAR}\b"
        r"(?:claim\w*|promis\w+|undisclosed|unseen|unshown|unstated|undocumented)",
    ),
    ("假定", "假设", "推测", "臆测", "脑补", "猜测", "想象", "推断", "默认", "设想"),
)

IS_DATA: Final = either(
    (
        *("untrusted", "(?:not|never) (?:as |an? )?instructions?", "no instructions? to you", "not addressed to you"),
        "quoted (?:material|text|content)",
        r"(?:not|never|no|(?:do|must|should)n['’]t)\b[^.;]{0,20}\b"
        rf"(?:obey|follow|execute|act on|carry out|comply with|respond to|heed)\b{_NEAR}\b"
        rf"(?:{_ORDERS}|anything|any (?:instruction|command|request|order))",
        r"(?<!not )(?<!n't )(?<!n’t )(?<!never )(?:ignore|disregard)"
        rf"\b{_NEAR}\b(?:{_ORDERS}|instruction|command)\b{_NEAR}\b"
        "(?:in|inside|within|between|from|contain(?:s|ed)?|embedded|appears?|found|by)",
    ),
    (
        *(
            "不可信",
            "不受信任",
            "(?:不是|而非|并非|不得视为|不要当作|不要当成|不作为)(?:给你的|任何)?(?:指令|命令|指示)",
        ),
        f"{_NOT_ZH}[^。；]{{0,8}}(?:{_OBEY_ZH}|被){_NEAR_ZH}{_ORDERS_ZH}",
        f"{_ORDERS_ZH}{_NEAR_ZH}{_NOT_ZH}{_OBEY_ZH}",
        f"(?:忽略|无视){_NEAR_ZH}(?:中|内|里|出现|包含){_NEAR_ZH}{_ORDERS_ZH}",
        f"(?:不要|不得|勿|别)(?:把|将){_NEAR_ZH}(?:当作|当成|视为|看作)(?:指令|命令|指示)",
    ),
)
"""The transcript is data and not an instruction."""
TIE: Final = either(
    ("ties?", "tied", "draw", "equal(?:ly)?", "neither", "both (?:are )?(?:equally|the same|similar)", "no difference"),
    (r"\[\[C\]\]", r"A\s?=\s?B", "平局", "平手", "并列", "不分", "相同", "同样", "一样", "相当", "难分"),
)

SCORES: Final = either(
    (
        r"rat(?:e|es|ing) (?:the|it|this|how|your|his|her|their|each|from \d|on|out of|between|\d|or\b)",
        "(?:give|assign|provide|output|write|add|report|return|state|(?:end|finish) with|include|submit|leave|append)"
        rf"\b{_NEAR}\b(?:score|rating|grade|stars?|marks out of)",
        "(?:score|grade|evaluate|judge|assess|review) "
        "(?:the|it|this|its|his|her|how|whether|each|agent|assistant|service)",
        *("how (?:satisfied|happy)", "on a scale (?:of|from)", "satisfaction (?:score|rating|from)"),
        r"(?:score|rating|satisfaction)[ \t]*[:=][ \t]*<",
    ),
    (
        *("打分", "评分", "打几分", "几颗星", "满意度", r"[1-9一]\s?(?:到|至|-|~|—)\s?(?:\d+|十|五)\s?分(?!钟)"),
        f"评(?:价|判|估)(?:一下)?(?:{_AGENT_ZH}|服务)",
        "给出[^。；]{0,8}(?:分数|评价|等级)",
    ),
)
"""What a judge is asked for."""
HELPS: Final = either(
    (
        r"(?:help|assist|guide|coach|teach|correct|remind|steer|nudge)s? (?:\w+ )?"
        rf"(?:support |service |customer |ai )?{_AGENT}",
        rf"(?:tell|give|show|offer) (?:the |an? )?(?:support |service )?(?:{_AGENT}|it|him|her|them)\b{_NEAR}\b"
        "(?:hints?|which tool|what to do|how to (?:do|solve|proceed|fix)|"
        "the (?:solution|right answer|criteria|next step))",
        "(?:call|use|name|suggest) (?:the |any |a )?tools?",
    ),
    (
        f"(?:帮助|协助|帮|引导|指导|提示|提醒|纠正|教)(?:一下)?{_AGENT_ZH}",
        f"告诉{_AGENT_ZH}[^。；]{{0,12}}(?:工具|怎么|如何|步骤|答案|解法)",
        "(?:调用|提到|使用)工具",
    ),
)
