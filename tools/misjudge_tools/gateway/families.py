"""Families of models: what their models and makers are called, and which family a model is of. Pure.

The names are data: regular expressions over folded text (lower case, no accents, every dash a hyphen), without groups.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import Final, NamedTuple


class Family(NamedTuple):
    """One family.

    `names` call its models wherever they stand. `words` also mean something else, as Claude and Gemini do; `forms` are
    words with a version or variant, which do not. `vendors` are makers that are known for their models alone,
    `companies` those that make much else. `ids` are further parts of model ids, `owners` further folders of hubs.
    """

    key: str
    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    vendors: tuple[str, ...] = ()
    companies: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()


_V: Final = r"[-_ ]?v?\d{1,2}(?:\.\d{1,2})?(?![\d.]*\d)"
"""A version: of one or two digits, so that no year is one."""
_NOTHING: Final = r"(?!)"
_SIZE: Final = r"[-_ ]?(?:\d{1,2}x)?\d{1,3}(?:\.\d)?b"

FAMILIES: Final = (
    Family(
        "openai",
        names=(
            r"chat ?gpt",
            r"gpt[-_]?\d(?:\.\d)?o?",
            r"gpt \d(?:\.\d)?o?(?! ?[gmt]i?b)",
            r"gpt[-_ ]oss",
            r"gpt-image",
        ),
        words=("gpt", r"o[134]", "davinci"),
        forms=(r"o[134][-_ ](?:mini|preview|pro|high)(?:[-_]high)?", r"openai(?:'s)? o[134]", r"text-davinci-\d+"),
        vendors=("openai",),
        companies=("open ai",),
        ids=("codex", "babbage"),
    ),
    Family(
        "anthropic",
        words=("claude",),
        forms=(
            rf"claude{_V}",
            r"claude[-_ ](?:opus|sonnet|haiku|instant|code)",
            r"(?:opus|sonnet|haiku)[-_ ][345]\.\d",
        ),
        vendors=("anthropic",),
    ),
    Family(
        "google",
        names=("codegemma", "paligemma", "shieldgemma", "learnlm", r"(?:text|chat)-bison"),
        words=("gemini", "gemma", "bard", "palm", "lamda"),
        forms=(
            r"gemini[-_ ]?v?[1-3](?:\.\d)?(?![\d.]*\d)",
            r"gemini[-_ ](?:pro|ultra|flash|nano|advanced|exp)",
            rf"gemma{_V}",
            rf"gemma{_SIZE}",
            r"palm[-_ ]?2",
        ),
        vendors=(r"google deepmind", "deepmind", "google ai studio"),
        companies=("google", "谷歌", "alphabet"),
    ),
    Family(
        "qwen",
        names=("qwen", "通义千问", r"tongyi[-_ ]?qianwen"),
        words=("qwq", "千问", "通义", "tongyi"),
        forms=(rf"qwq{_SIZE}", r"qwq-(?:plus|max|preview)", r"qvq-(?:max|plus|72b)", r"通义大模型"),
        vendors=("通义实验室",),
        companies=("阿里巴巴达摩院", "阿里巴巴", "阿里云", "阿里", r"alibaba(?: cloud)?", "aliyun", "达摩院"),
        ids=("qvq",),
    ),
    Family("deepseek", names=("deepseek",), vendors=("深度求索",)),
    Family(
        "meta",
        names=("codellama", "tinyllama", r"meta[-_ ]llama", "llamaguard", r"llama[-_ ]guard"),
        words=("llama", "vicuna", "alpaca"),
        forms=(rf"llama{_V}", rf"(?:llama|vicuna|alpaca){_SIZE}", r"llama[-_ ]?v\dp\d"),
        vendors=("meta ai",),
        companies=("meta", "facebook", "脸书"),
    ),
    Family(
        "mistral",
        names=("mixtral", "codestral", "pixtral", "ministral", "magistral", "devstral"),
        words=("mistral",),
        forms=(rf"mistral{_V}", rf"(?:mistral|zephyr){_SIZE}", r"mistral[-_ ](?:large|medium|small|tiny|nemo|saba)"),
        vendors=(r"mistral ?ai",),
        companies=("mistral",),
        ids=("zephyr", "mistralai"),
    ),
    Family(
        "zhipu",
        names=("chatglm", "智谱清言", "codegeex", "cogvlm"),
        words=("glm", "清言"),
        forms=(r"glm[-_]?\d(?:\.\d)?v?", r"glm \d(?:\.\d)?v?"),
        vendors=(r"智谱(?:华章|ai)?", r"zhipu(?: ?ai)?", r"z\.ai"),
        owners=("zai-org", "thudm", "z-ai"),
    ),
    Family(
        "moonshot",
        names=(r"moonshot-v\d",),
        words=("kimi", "moonshot"),
        forms=(rf"kimi{_V}", r"kimi[-_ ](?:k\d(?:\.\d)?|latest|vl|dev|linear|audio|thinking|explorer)"),
        vendors=("月之暗面", r"moonshot ?ai"),
        owners=("moonshotai",),
    ),
    Family(
        "baidu",
        names=("文心一言", r"ernie[-_ ]?bot", "yiyan"),
        words=("ernie", "文心", "一言"),
        forms=(r"ernie[-_ ]?\d\.\d", r"ernie-(?:\d|x1|speed|lite|tiny)", r"文心(?:大模型|[-_ ]?(?:\d(?:\.\d)?|x1))"),
        companies=("baidu", "百度"),
    ),
    Family(
        "bytedance",
        names=("doubao",),
        words=("豆包", "云雀", "skylark"),
        forms=(r"豆包(?:大模型|[-_ ]?(?:\d\.\d|pro|lite|seed))", r"seed-oss", "云雀大模型"),
        companies=("字节跳动", "字节", "bytedance", "火山引擎", "volcengine"),
        owners=("bytedance-seed",),
    ),
    Family(
        "xai",
        words=("grok",),
        forms=(rf"grok{_V}", r"grok-(?:beta|mini|vision|code)"),
        vendors=("xai", r"x\.ai"),
        owners=("x-ai",),
    ),
    Family(
        "microsoft",
        names=("wizardlm", "wizardcoder", "wizardmath"),
        words=("phi", "copilot"),
        forms=(r"phi-?[1-4](?:\.\d)?", r"phi[-_ ][1-4](?:\.\d)?[-_ ](?:mini|small|medium|vision|silica)", r"phi 3\.5"),
        companies=("microsoft", "微软"),
    ),
    Family(
        "tencent",
        names=("hunyuan", "腾讯混元", "腾讯元宝"),
        words=("混元", "元宝", "yuanbao"),
        forms=(r"混元(?:大模型|[-_ ]?(?:large|pro|turbos?|lite|t1|a13b))",),
        companies=("tencent", "腾讯"),
    ),
    Family(
        "01ai",
        forms=(rf"yi{_SIZE}", r"yi-(?:\d(?:\.\d)?|large|lightning|vision|medium|spark|coder|vl)"),
        vendors=("零一万物", r"01[-.]?ai"),
        owners=("01-ai",),
    ),
    Family(
        "minimax",
        names=(r"abab ?\d(?:\.\d)?[a-z]?",),
        words=("海螺",),
        forms=(r"minimax[-_ ](?:m\d(?:\.\d)?|text|vl|\d\d)",),
        vendors=("minimax", "稀宇科技", "海螺ai"),
        owners=("minimaxai",),
        ids=("abab",),
    ),
    Family(
        "cohere",
        names=("c4ai", r"aya[-_ ](?:expanse|vision|101|23)"),
        words=(r"command[-_ ][ar]",),
        forms=(
            r"command[-_ ]r\+",
            r"command-(?:r-plus|r-\d\d-20\d\d|r7b|a-\d\d-20\d\d|light|nightly)",
            r"cohere(?:'s)? command(?:[-_ ][ar])?",
        ),
        companies=("cohere",),
        ids=(r"command-(?:xlarge|light|nightly)",),
        owners=("cohereforai", "coherelabs"),
    ),
    Family("smollm", names=("smollm",), companies=(r"hugging ?face",), owners=("huggingfacetb",)),
    Family("nvidia", names=("nemotron",), companies=("nvidia", "英伟达")),
    Family(
        "amazon",
        forms=(r"(?:amazon )?nova[-_ ](?:pro|lite|micro|premier)", r"amazon[- ](?:nova|titan)", r"titan[-_ ]text"),
        companies=("amazon", "aws", "亚马逊"),
    ),
    Family(
        "baichuan",
        names=("baichuan",),
        words=("百川",),
        forms=(r"百川(?:大模型|[-_ ]?\d)",),
        vendors=("百川智能",),
        owners=("baichuan-inc",),
    ),
    Family(
        "iflytek",
        names=("讯飞星火", "sparkdesk"),
        words=("星火",),
        forms=("星火大模型", "星火认知"),
        companies=("科大讯飞", "讯飞", "iflytek"),
    ),
    Family(
        "stepfun", names=("跃问",), forms=(r"step-[123](?:v|o|-\d+k|-mini|-flash)",), vendors=("阶跃星辰", "stepfun")
    ),
    Family("internlm", names=("internlm", "internvl", "书生[·・ ]?浦语", "sensechat"), companies=("商汤", "sensetime")),
    Family(
        "huawei", words=("盘古", "pangu"), forms=(r"(?:盘古|pangu)(?:大模型|-\S?\d)",), companies=("huawei", "华为")
    ),
    Family(
        "ai21", words=("jamba",), forms=(r"jamba[-_ ](?:\d|large|mini|instruct)", r"jurassic-[12]"), vendors=("ai21",)
    ),
    Family("ibm", forms=(r"granite-\d(?:\.\d)?", r"ibm granite"), companies=("ibm",), owners=("ibm-granite",)),
    Family("databricks", names=("dbrx",), forms=(r"mpt-\d+b", r"dolly-v\d"), companies=("databricks",)),
    Family("tii", forms=(rf"falcon{_SIZE}", r"falcon\d-"), ids=("falcon",), owners=("tiiuae",)),
    Family("ai2", forms=(r"olmo[-_ ]?\d", r"t[uü]lu[-_ ]?\d"), ids=("olmo", "tulu"), owners=("allenai",)),
    Family("nous", names=(r"nous[-_ ]?hermes",), vendors=("nous research", "nousresearch")),
    Family("eleuther", names=(r"gpt[-_](?:j|neox|neo)",), vendors=("eleutherai",), ids=("pythia",)),
    Family("lg", names=("exaone",), owners=("lgai-exaone",)),
    Family("meituan", names=("longcat",)),
)

EXACT: Final = {"xai": "xAI", "minimax": "MiniMax", "llama": "LLaMA"}
"""Names that mean nothing else in this spelling only: XAI is explainable AI, minimax an algorithm, llama an animal."""


@lru_cache(maxsize=4096)
def family_of(name: str) -> str | None:
    """The family of a model by its name, as gateways and hubs write it; None where that does not say.

    The first product in the name counts, the last part of a path before the others: of
    `deepseek-r1-distill-qwen-32b` it is the one that taught it. Else the folder says it, or a vendor's name.
    """
    folded = unicodedata.normalize("NFKC", name[:400]).lower().strip()
    *folders, last = folded.split("/")
    return _first(last) or _first(folded) or _by_maker(folders, last)


def _first(text: str) -> str | None:
    found = [(match.start(), -match.end(), key) for key, pattern in _products() if (match := pattern.search(text))]
    return min(found)[2] if found else None


def _by_maker(folders: list[str], last: str) -> str | None:
    places = [*folders, *last.split(".")[:-1]]
    for family, vendors, makers in _makers():
        if vendors.search(last) or any(vendors.search(place) or makers.fullmatch(place) for place in places):
            return family
    return None


@cache
def _products() -> list[tuple[str, re.Pattern[str]]]:
    named = ((one.key, (*one.names, *one.forms, *one.words, *one.ids)) for one in FAMILIES)
    return [(key, _between_letters(patterns)) for key, patterns in named if patterns]


@cache
def _makers() -> list[tuple[str, re.Pattern[str], re.Pattern[str]]]:
    return [
        (
            one.key,
            _between_letters(one.vendors or (_NOTHING,)),
            re.compile("|".join((*one.companies, *one.owners, _NOTHING))),
        )
        for one in FAMILIES
    ]


def _between_letters(patterns: tuple[str, ...]) -> re.Pattern[str]:
    # An id may hold a name and a digit without a break, as llama3, but "o1" must not be found in "foo1".
    return re.compile(rf"(?<![a-z])(?:{'|'.join(patterns)})(?![a-z])")
