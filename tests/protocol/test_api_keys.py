from kio.schema.index import api_key_map

from odradek.protocol.api_keys import ApiKey

OF_CONTROLLERS_ONLY = {52, 53, 54, 70, 82}


def test_keys_and_names_are_kafkas() -> None:
    kafkas = {
        key: name for key, name in api_key_map.items() if key not in OF_CONTROLLERS_ONLY
    }
    assert {key.value: key.name.lower() for key in ApiKey} == kafkas
