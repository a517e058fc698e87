"""How models and their makers are named, and how a model says who it is: patterns over folded text (see `folding`).

A cue is what stands before the name, which is looked for where the cue ends. Every repetition is bounded, so a hostile
text costs no more than a constant for each of its characters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from misjudge_tools.gateway.families import FAMILIES

_CJK: Final = "\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff"
BEFORE: Final = rf"(?<![^\W_{_CJK}])"
"""No letter or digit stands before, but for those of scripts that put no space between words."""
AFTER: Final = rf"(?![^\W_{_CJK}])"
_PLURAL: Final = "(?:(?<!pro)s)?"
"""ChatGPTs, but no pros and cons."""
AFTER_NAME: Final = f"(?={_PLURAL}{AFTER})"
_TAIL_ENDS: Final = rf"(?={_PLURAL}(?![\da-z]))"

_IN_IDS: Final = (
    "mini|nano|micro|tiny|small|medium|large|xl|turbo|pro|plus|max|ultra|flash|lite|air|fast|high|low|preview|latest|exp"
    "|experimental|beta|instruct|chat|it|base|hf|sft|dpo|gguf|awq|gptq|int[48]|fp8|thinking|think|reasoner|reasoning"
    "|distill|coder|code|math|vision|vl|audio|omni|realtime|search|research|oss|opus|sonnet|haiku|instant|scout"
    r"|maverick|long|qwen|llama|v?\d[\da-z]{0,9}|[akrmx]\d{1,2}[\da-z]{0,3}"
)
_SPACED: Final = (
    "mini|nano|turbo|pro|plus|max|ultra|flash|lite|air|preview|instruct|thinking|opus|sonnet|haiku|vision|coder|scout"
    r"|maverick|oss|v?\d{1,2}\.\d{1,2}|(?:\d{1,2}x)?\d{1,3}(?:\.\d)?b"
)
TAIL: Final = (
    r"(?:[-_ ]?v?\d{1,2}(?:\.\d{1,2})?[a-z]{0,3}(?![\da-z]))?"
    rf"(?:[-_:.@](?:{_IN_IDS}){_TAIL_ENDS}| (?:{_SPACED}){_TAIL_ENDS}){{0,10}}"
)
"""Version and variant behind a model's name, as far as they go."""

_GAP: Final = r"[\s*_`\"'“”«»(\[「『《]"
_MADE: Final = (
    "(?:trained|made|built|created|developed|designed|powered|provided|released|offered|introduced|produced|owned"
    "|operated|hosted|fine-tuned|engineered)"
)
_MADE_ZH: Final = "(?:研发|开发|训练|打造|推出|创造|创建|研制|提供|设计|构建|发布|制作|出品|自研)"
_MACHINE: Final = (
    r"(?:(?:ai|language|chat|foundation|multimodal) models?|llms?|(?:ai|virtual|digital|intelligent) assistants?"
    r"|chatbots?|conversational ai|ai systems?|ai)"
)
_MACHINE_ZH: Final = "(?:大?语言模型|大模型|模型|ai|人工智能|智能助手|智能体|聊天机器人|机器人|助手)"
_FIRM_ZH: Final = "(?:有限公司|股份|科技|公司|集团|团队|实验室|研究院|旗下|自主|独立|联合)"
_ADJECTIVES: Final = r"(?:[\w-]{1,20} ){0,4}?"
_LINKS: Final = r"(?:[\s,]{1,3}(?:that|which|who|was|is|has|have|been|and|originally|currently|proudly|recently)){0,4}"
_WHO: Final = r"(?:(?:the|team|teams|researchers|engineers|developers|people|company|at|of|a|called|named)\s){0,5}"
_MADE_BY: Final = rf"{_MADE}(?:\s(?:and|&)\s{_MADE})?\s(?:by|at|from)\s{_WHO}[\"'“*_`]{{0,3}}"
_TALKING: Final = r"(?:talking|speaking|chatting) (?:to|with)"
_SELF_ZH: Final = "(?:我是|我叫|我就是|作为|身为|本(?:助手|模型)是?)"

_CUES: Final = {
    "own": rf"(?:i am|i'm|as|i was) (?:an?|the|your|just an?|only an?) {_ADJECTIVES}{_MACHINE}{_LINKS}"
    rf"[\s,]{{1,3}}{_MADE_BY}",
    "called": rf"(?:i am|i'm|as) an? {_ADJECTIVES}(?:{_MACHINE}|assistant|model|agent|bot),? "
    rf"(?:named|called|known as){_GAP}{{1,4}}",
    "as": rf"(?:as|being){_GAP}{{1,4}}(?:the |an? ai (?:named|called) )?",
    "made": rf"(?:{_MACHINE}{_LINKS}[\s,]{{1,3}}{_MADE_BY}|{_MACHINE} (?:by|from|of) {_WHO}"
    rf"|(?:i was|i am|i'm|i've been|i have been) (?:[a-z]{{1,12}}ly )?{_MADE_BY}"
    rf"|my (?:creators?|makers?|developers?|trainers?)(?: is| are|,|:| at| from)[\s,]{{1,3}}{_WHO})",
    "am": rf"(?:i am|i'm|im|this is|my name is|my name's|call me|known as|i go by|i'm called|i am called"
    rf"|you are {_TALKING}|you're {_TALKING}|powered by|running on|(?:i am|i'm) based on|speaking as|responding as"
    rf"|my (?:underlying|base) model is)"
    rf"(?:{_GAP}{{1,4}}(?:actually|really|just|simply|currently|indeed|in fact|also|the|called|named|model)){{0,3}}"
    rf"{_GAP}{{1,4}}",
}
_FIRST_ZH: Final = "".join(
    sorted({name[0] for one in FAMILIES for name in (*one.names, *one.words, *one.forms) if name[0] > "z"})
)
_CUES_ZH: Final = {
    "own_zh": rf"(?:{_SELF_ZH}(?:[^,。!?\n]{{0,12}},?(?:是|一[个款名种])?)?|我)由\s?"
    rf"(?=[^,。!?\n]{{1,26}}?{_MADE_ZH})",
    "made_zh": rf"由\s?(?=[^,。!?\n]{{1,24}}?{_MADE_ZH}的?[^,。!?\n]{{0,8}}?{_MACHINE_ZH})"
    rf"|来自\s?(?=[^,。!?\n]{{1,16}}?{_MACHINE_ZH})",
    "am_zh": "(?:我(?:其实|实际上|现在|目前)?是|我叫|我就是|我名叫|我的名字(?:是|叫)?|作为|身为|这里是|在下|名为|叫做"
    "|叫我|本(?:助手|模型|ai)(?:是|叫)?|我的?(?:底层|基础|背后的?)模型是|基于)"
    rf"(?:{_GAP}|一[个款名]|大?语言模型|大模型|人工智能助手|智能助手|ai助手|助手|[:,的]){{0,6}}(?=[a-z\d{_FIRST_ZH}])",
}


@cache
def cues() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What comes before the name that a model gives itself (groups `as`, `am`, `called`) or its maker (`made`, `own`),
    in English and in Chinese (`_zh`). Behind `called` and `own` a name that nobody knows is one, too.
    """
    return re.compile(f"{BEFORE}(?:{_named(_CUES)})"), re.compile(_named(_CUES_ZH))


def _named(patterns: Mapping[str, str]) -> str:
    return "|".join(f"(?P<{name}>{pattern})" for name, pattern in patterns.items())


ID_ENDS: Final = re.compile(r"-\d{1,3}(?:\.\d)?b-(?:instruct|chat|it|base|sft|dpo)" + AFTER)
"""How the ids of models of any family end, as `zorblax-7b-instruct`."""
ID: Final = re.compile(rf"{BEFORE}[a-z][a-z\d.]{{1,20}}(?:-[a-z\d.]{{1,20}}){{0,3}}{ID_ENDS.pattern}")

ENDS: Final = re.compile(
    r"(?=[\s*_`\"'”»)\]」』》]{0,4}(?:$|[,.;:!?。、|/]|-\s|(?:and|from|by|here|speaking|your|an?|the|i|model|ai|large"
    r"|language|assistant|how|who|developed|trained|made|created|built|powered|version|at|to|so)\b"
    r"|(?:大|语言|智能|人工|模型|助手|团队|开发|训练|研发|一[个款名]|我|很高兴|是|由|来自|为[您你]|竭诚|随时|可以|能|会"
    r"|将|并|无法|不能|没有|的(?:助手|ai|智能|大?模型))))"
)
"""What follows a word that is a name there: "I am Claude Monet's heir" names no model."""
AS_ENDS: Final = re.compile(r"(?=[*_`\"'”»)\]」』》]{0,3}(?:\s?,|\si\b))")
MADE_ENDS_ZH: Final = re.compile(rf"[^,。!?\n]{{0,14}}?{_MADE_ZH}")
NO_NAMES: Final = frozenset(
    "a all am an and any are as at be but by can could do everyone for from had has have he hello her here hi him "
    "his how human humans i if in is it its just may me mine my no not of ok on one or our ours people please she "
    "should so some someone sorry thanks that the their them then there these they this those to us was we were "
    "what when where which who why will with would yes you your yours".split()
)
"""Words that name nobody, though a sentence may begin with them."""
_NO_NAME_ZH: Final = (
    "[我你您他她它咱]|[这那某每哪一几多][个家群些支位组名款]|[这那某该本贵](?:公司|团队|人|司)|自己|大家|人类"
)
_NAME: Final = r"[^\W\d_](?:[\w&.-]{0,29}\w)?"
UNKNOWN: Final = re.compile(f" ?(?:(?:the|an?) )?(?P<name>{_NAME})")
UNKNOWN_MODEL: Final = re.compile(
    rf"(?P<name>{_NAME}(?: [\w.-]{{1,20}})?), (?:an?|the|your) {_ADJECTIVES}{_MACHINE}\b"
    rf"(?:{_LINKS}[\s,]{{1,3}}{_MADE_BY})?"
)
"""Behind the cue in "I am Zorblax, a large language model trained by Initech", up to the maker's name."""
UNKNOWN_MAKER_ZH: Final = re.compile(
    rf"(?P<name>(?!{_NO_NAME_ZH})[^,。!?\n\s]{{1,16}}?){_FIRM_ZH}{{0,2}}{_MADE_ZH}的?[^,。!?\n]{{0,12}}?{_MACHINE_ZH}"
)


def _either(*patterns: str) -> str:
    # The longest first: an alternative that matches ends the search, though a longer one would, too.
    return "|".join(sorted(set(patterns), key=lambda pattern: (-len(pattern), pattern)))


_MODELS: Final = _either(*(pattern for one in FAMILIES for pattern in (*one.names, *one.forms)))
_WORDS: Final = _either(*(pattern for one in FAMILIES for pattern in one.words))
_VENDORS: Final = _either(*(pattern for one in FAMILIES for pattern in one.vendors))
_COMPANIES: Final = _either(*(pattern for one in FAMILIES for pattern in one.companies))


@cache
def known_names() -> re.Pattern[str]:
    """What names a model or a vendor wherever it stands, in groups `model` and `vendor`; `exact_model` and
    `exact_vendor` only do in their one spelling.
    """
    own = r"(?:'s)?[ -](?:(?:large|chat|foundation|generative|multimodal|new|latest|own|advanced|powerful) ){0,3}"
    is_model = rf"(?={own}(?:{_MACHINE}|models?|assistant)\b|的?(?:大?语言模型|大模型|模型))"
    own_zh = "(?:公司|集团|旗下|自研|自主|研发|开发|训练|推出|的|最新|新一代|生成式){0,4}"
    is_maker = rf"(?={own}{_MACHINE}\b|{own_zh}(?:大?语言模型|大模型|ai助手|ai模型))"
    return re.compile(
        rf"{BEFORE}(?:(?P<model>(?:{_MODELS}){TAIL}|(?:{_WORDS}){is_model})"
        rf"|(?P<exact_vendor>xai|minimax)|(?P<exact_model>llama)"
        rf"|(?P<vendor>(?:{_VENDORS})|(?:{_COMPANIES}){is_maker})){AFTER_NAME}"
    )


@cache
def self_names() -> re.Pattern[str]:
    """What names a model (`model`, or `word` where it is an ordinary word, too) or a maker (`vendor`) behind a cue."""
    return re.compile(
        rf"(?:(?P<model>(?:{_MODELS}){TAIL})|(?P<vendor>{_VENDORS}|{_COMPANIES})|(?P<word>{_WORDS})){AFTER}"
    )
