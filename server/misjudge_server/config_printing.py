"""What `misjudge config` reports, as text for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from rich.table import Table
from rich.text import Text

from misjudge_server.config_command import ConfigReport, ModelReport, PermissionReport
from misjudge_server.console import console
from misjudge_tools.gateway.settings import Price

DEFAULT: Final = "default"
LIMITS: Final = {
    "timeout_s": "{:g} s an attempt",
    "deadline_s": "{:g} s a call",
    "max_attempts": "{:g} attempts",
    "concurrency": "{:g} at once",
    "requests_per_minute": "{:g} requests/min",
    "tokens_per_minute": "{:g} tokens/min",
}


class _Line(NamedTuple):
    setting: str
    value: str
    origin: str


def print_config(report: ConfigReport) -> None:
    """Print the roles, the profiles, and what looks wrong."""
    read = f"Read: environment, .env, {report.config_file}" if report.config_file else "Read: environment, .env"
    console.print(Text(f"{read}. A key is never shown."))
    console.print(_roles_table(report))
    if report.profiles:
        console.print(_profiles_table(report))
    if report.agents:
        console.print(_agents_table(report))
    for line in _permissions(report.allowed):
        console.print(Text(line))
    for name in report.leftovers:
        console.print(Text(f"{name} is set but has no say here: misjudge reads TAOTOKEN_BASE_URL and misjudge.toml."))
    for warning in report.warnings:
        console.print(Text(f"Warning: {warning}", style="bold yellow"))


def _roles_table(report: ConfigReport) -> Table:
    table = Table(title="In force", title_justify="left")
    for heading in ("role", "setting", "value", "from"):
        table.add_column(heading, overflow="fold")
    for role, model in report.roles.items():
        table.add_section()
        for number, line in enumerate(_lines(model, role == "agent")):
            table.add_row("" if number else role, line.setting, Text(line.value), Text(line.origin))
    return table


def _profiles_table(report: ConfigReport) -> Table:
    table = Table(title="Profiles", title_justify="left")
    for heading in ("profile", "model", "base URL", "key", "USD/M, in / out", "used by"):
        table.add_column(heading, overflow="fold")
    for name, one in report.profiles.items():
        users = ", ".join(role for role, model in report.roles.items() if model.profile == name)
        rates = f"{one.price.input:g} / {one.price.output:g}" if one.price else "unknown"
        cells = (name, one.model or "–", one.base_url, _key(one), rates, users or "–")
        table.add_row(*map(Text, cells))
    return table


def _agents_table(report: ConfigReport) -> Table:
    table = Table(title="Agents", title_justify="left")
    for heading in ("agent", "kind", "asks"):
        table.add_column(heading, overflow="fold")
    for name, agent in report.agents.items():
        table.add_row(*map(Text, (name, agent.kind, agent.asks)))
    return table


def _permissions(allowed: PermissionReport) -> Iterator[str]:
    if allowed.hosts:
        yield f"Hosts that may be asked: {', '.join(allowed.hosts)}"
    if allowed.python:
        yield f"Python modules that may be run as tools: {', '.join(allowed.python)}"
    if allowed.commands:
        named = (f"{name} = {program}" for name, program in allowed.commands.items())
        yield f"Commands that may be run: {', '.join(named)}"


def _lines(model: ModelReport, is_agent: bool) -> Iterator[_Line]:
    origins = model.origins
    if model.profile is not None:
        yield _Line("profile", model.profile, origins.get("name", DEFAULT))
    yield _Line("model", model.model or "none named", origins.get("model", "–"))
    yield _Line("base URL", model.base_url, origins.get("base_url", DEFAULT))
    yield _Line("key", _key(model), origins.get("key", origins.get("key_variable", DEFAULT)))
    unstated = "the model's own" if is_agent else "–"
    temperature = unstated if model.temperature is None else f"{model.temperature:g}"
    yield _Line("temperature", temperature, origins.get("temperature", "–" if is_agent else "default of the role"))
    if model.max_tokens is not None:
        yield _Line("max_tokens", str(model.max_tokens), origins.get("max_tokens", DEFAULT))
    if model.context_tokens is not None:
        yield _Line("context", f"{model.context_tokens:,} tokens", origins.get("context_tokens", DEFAULT))
    yield _Line("price", _price(model.price), origins.get("price", model.price.source if model.price else "–"))
    if model.family is not None:
        yield _Line("family", model.family, origins.get("family", DEFAULT))
    yield _Line("limits", _limits(model), _origin_of_limits(model))
    if model.prompt is not None:
        yield _Line("prompt", model.prompt, origins.get("prompt", DEFAULT))
    if model.prompts:
        named = ", ".join(f"{form}: {prompt}" for form, prompt in model.prompts.items())
        yield _Line("prompts", named, origins.get("prompts", DEFAULT))
    if "reply_form" in origins:
        yield _Line("reply form", model.reply_form, origins["reply_form"])


def _key(model: ModelReport) -> str:
    return f"{model.key_variable}, {'set' if model.key_is_set else 'not set'}"


def _price(price: Price | None) -> str:
    return "unknown" if price is None else f"{price.input:g} in, {price.output:g} out (USD per million tokens)"


def _limits(model: ModelReport) -> str:
    stated = [form.format(model.limits[name]) for name, form in LIMITS.items() if model.limits[name] is not None]
    proxies = [] if model.limits["trust_env"] else ["proxy variables ignored"]
    return ", ".join([*stated, *proxies])


def _origin_of_limits(model: ModelReport) -> str:
    stated = [f"{name}: {model.origins[name]}" for name in (*LIMITS, "trust_env") if name in model.origins]
    return "; ".join(stated) or DEFAULT
