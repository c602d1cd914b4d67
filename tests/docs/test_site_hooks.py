import importlib.util
from types import ModuleType

import pytest

from tests.docs.pages import ROOT


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "site_hooks", ROOT / "docs" / "site_hooks.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("page", "on_forge", "on_site"),
    [
        ("index.md", "[a](apis.md)", "[a](apis.md)"),
        ("index.md", "[a](../ARCHITECTURE.md)", "[a](architecture.md)"),
        ("about/faq.md", "[a](../apis.md#x-y)", "[a](../apis.md#x-y)"),
        ("about/faq.md", "[a](../../CHANGELOG.md)", "[a](../changelog.md)"),
        ("project.md", "[a](docs/apis.md)", "[a](apis.md)"),
        ("project.md", "[a [b]\nc](docs/about/faq.md)", "[a [b]\nc](about/faq.md)"),
        ("architecture.md", "[a](README.md)", "[a](project.md)"),
        ("project.md", "its [file](config/edge.properties).", "its file."),
        ("index.md", "[a](#b) [c](https://d.example/e)", None),
        ("index.md", "```\n[a](../setup.py)\n```\n[b](../setup.py)\n", None),
    ],
)
def test_links_lead_to_the_same_page(
    hooks: ModuleType, page: str, on_forge: str, on_site: str | None
) -> None:
    expected = on_forge if on_site is None else on_site
    expected = expected.replace("[b](../setup.py)", "b")
    assert hooks.relinked(on_forge, page) == expected
