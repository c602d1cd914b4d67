"""The messages of the protocol, one module per family of APIs."""


def load() -> None:
    """Have all of them in `schema.REQUESTS` and `schema.RESPONSES`."""
    from importlib import import_module
    from pkgutil import iter_modules  # a broker starts without it

    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
