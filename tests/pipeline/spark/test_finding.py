from odradek.pipeline.spark.finding import first_line


def test_the_line_that_says_most() -> None:
    told = "o1.x failed\n  at a.b\njava.io.IOException: disk\nValueError: bad\nat y"
    assert first_line(Exception(told)) == "java.io.IOException: disk"
    assert first_line(Exception("\n\nat x\nnothing more")) == "nothing more"
    assert first_line(KeyError()) == "KeyError"
