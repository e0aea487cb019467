"""Classes of structs, and their instances as Python objects."""

from __future__ import annotations

import copy
import datetime as dt
import inspect
import pickle
from typing import Annotated, Any, ClassVar, Optional, TypeVar, get_type_hints

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.typing import NDArray  # noqa: TC002 - the decorator evaluates it
from typing_extensions import TypeAliasType

from colonnade.errors import StructError
from colonnade.structs import Ascii, Extra, Fixed, Struct, struct


@struct
class Person(Struct):
    login: str
    id: int = 0


@struct
class Facts(Struct):
    number: int
    author: str | None
    owner: Person
    labels: list[str]
    maybe: list[int | None]
    people: list[Person]
    array: NDArray[np.float32]
    day: dt.date
    at: dt.datetime
    took: dt.timedelta
    seen: Annotated[np.datetime64, "ms"]
    small: np.int16
    code: Annotated[str, Ascii(3)]
    wide: Annotated[str, Fixed(3)]
    raw: Annotated[bytes, Fixed(3)]
    ratio: complex = 1j
    score: Extra[float | None] = None
    kinds: ClassVar[int] = 3

    @property
    def double(self) -> int:
        return 2 * self.number


def facts(**changes: Any) -> Facts:
    values: dict[str, Any] = {
        "number": 1,
        "author": None,
        "owner": Person("bob", 7),
        "labels": ["a", "", "ä"],
        "maybe": [1, None, 3],
        "people": [Person("x"), Person("y", 2)],
        "array": np.array([0.5, 1.5], dtype=np.float32),
        "day": dt.date(1, 2, 3),
        "at": dt.datetime(2020, 1, 2, 3, 4, 5, 6),
        "took": dt.timedelta(days=-1, microseconds=1),
        "seen": np.datetime64("2020-01-02T03:04:05.006"),
        "small": np.int16(-5),
        "code": "abc",
        "wide": "äöü",
        "raw": b"\0a",
    }
    return Facts(**{**values, **changes})


def test_every_value_comes_back_in_its_class() -> None:
    found = facts()
    values = found.to_dict()
    assert values.pop("array").tolist() == [0.5, 1.5]
    assert values == {
        "number": 1,
        "author": None,
        "owner": {"login": "bob", "id": 7},
        "labels": ["a", "", "ä"],
        "maybe": [1, None, 3],
        "people": [Person("x"), Person("y", 2)],
        "day": dt.date(1, 2, 3),
        "at": dt.datetime(2020, 1, 2, 3, 4, 5, 6),
        "took": dt.timedelta(days=-1, microseconds=1),
        "seen": np.datetime64("2020-01-02T03:04:05.006"),
        "small": -5,
        "code": "abc",
        "wide": "äöü",
        "raw": b"\0a",
        "ratio": 1j,
    }
    assert type(found.small) is np.int16
    assert type(found.seen) is np.datetime64
    assert type(found.owner) is Person
    assert found.array.base is not None
    assert not found.array.flags.writeable
    assert (found.double, found.kinds, Facts.kinds) == (2, 3, 3)


def test_equality_hash_copy_and_pickle() -> None:
    one, same, other = facts(), facts(), facts(number=2)
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != bytes(one)
    assert Person("a") != facts()
    pickled = pickle.loads(pickle.dumps(one))  # noqa: S301 - of its own
    for made in (pickled, copy.copy(one), copy.deepcopy(one)):
        assert type(made) is Facts
        assert made == one
        assert bytes(made) == bytes(one)


def test_a_pickle_has_the_bytes() -> None:
    assert bytes(Person("a")) in pickle.dumps(Person("a"))


def test_the_constructor_is_like_a_dataclass() -> None:
    assert Person("a", 3) == Person(login="a", id=3) == Person(id=3, login="a")
    assert Person("a").id == 0
    assert list(inspect.signature(Person).parameters) == ["login", "id"]
    assert repr(Person("a")) == "Person(login='a', id=0)"
    assert Person("a").replace(id=4) == Person("a", 4)
    match Person("a", 2):
        case Person(login, number):
            assert (login, number) == ("a", 2)


def test_extras_are_not_stored() -> None:
    found = facts(score=1.5)
    assert found.score == 1.5
    found.score = 2.5
    assert found.score == 2.5
    assert bytes(found) == bytes(facts())
    assert Facts.from_bytes(bytes(found)).score is None
    del found.score
    assert found.score is None


def test_instances_do_not_share_the_default_of_an_extra() -> None:
    text = "Made.seen: all instances would share its default, a list"
    with pytest.raises(TypeError, match=text):
        made_of({"a": int, "seen": Extra[list[int]]}, seen=[])
    made = made_of({"a": int, "seen": Extra[tuple[int, ...]]}, seen=(1,))
    assert made(1).seen == (1,)


def test_fields_do_not_change() -> None:
    person = Person("a")
    with pytest.raises(AttributeError, match=r"replace\(login=\.\.\.\) makes another one"):
        person.login = "b"
    with pytest.raises(AttributeError):
        del person.login
    with pytest.raises(AttributeError):
        person.other = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"number": "1"}, TypeError, "Facts.number takes int64, not '1'"),
        ({"number": True}, TypeError, "not True"),
        ({"number": 1.0}, TypeError, "not 1.0"),
        ({"number": 2**63}, StructError, "out of the range of int64"),
        ({"number": 2**70}, StructError, "out of the range of int64"),
        ({"number": None}, StructError, "it is not optional"),
        ({"small": 2**15}, StructError, '"small": 32768 is out of the range of int16'),
        ({"author": b"a"}, TypeError, "Facts.author takes str"),
        ({"author": "a\0"}, StructError, "NUL"),
        ({"owner": "a"}, TypeError, "Facts.owner takes a Person, not 'a'"),
        ({"labels": "abc"}, TypeError, "Facts.labels takes a list of str"),
        ({"labels": ["a", None]}, StructError, "element 1 of the list is missing"),
        ({"maybe": [1, "a"]}, TypeError, "Facts.maybe takes int64, not 'a'"),
        ({"array": [[1.0]]}, TypeError, "one dimension"),
        ({"array": ["a"]}, TypeError, "Facts.array"),
        ({"day": dt.datetime(2020, 1, 1)}, TypeError, "takes a datetime.date"),
        (
            {"seen": np.datetime64("2020", "ns") + np.timedelta64(1, "ns")},
            StructError,
            "is not a whole number of milliseconds",
        ),
        ({"seen": "2020"}, TypeError, "takes a datetime64"),
        ({"seen": np.datetime64("NaT", "ms")}, StructError, "it is not optional"),
        ({"code": "abcd"}, StructError, "does not fit"),
        ({"code": "ä"}, StructError, "ASCII"),
        ({"wide": "abcd"}, StructError, "does not fit U3"),
        ({"raw": b"abcd"}, StructError, "4 bytes do not fit S3"),
        ({"raw": b"a\0"}, StructError, "zeros at the end"),
        ({"nope": 1}, TypeError, 'has no field "nope"; its fields are number, author'),
    ],
)
def test_errors_name_the_field(changes: dict[str, Any], error: type, text: str) -> None:
    with pytest.raises(error) as info:
        facts(**changes)
    assert text in str(info.value)
    assert "Facts" in str(info.value)


def test_missing_and_repeated_arguments() -> None:
    with pytest.raises(TypeError, match='Person needs "login"; its fields are login, id'):
        Person()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="given twice"):
        Person("a", login="b")  # type: ignore[misc]
    with pytest.raises(TypeError, match="has 2 fields, and 3 values"):
        Person("a", 1, 2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="no fields"):
        Struct()


def test_pack_says_what_to_do_with_lists() -> None:
    with pytest.raises(TypeError, match=r"Person\.pack: .*login.* is a list: make an array"):
        Person.pack({"login": ["a", "b"], "id": np.array([1, 2])})
    with pytest.raises(TypeError, match=r'"id": an array .* is needed, not int'):
        Person.pack({"id": 3, "login": np.array(["a"])})
    with pytest.raises(ValueError, match='"id": it has 1 values, and there are 2 rows'):
        Person.pack({"login": np.array(["a", "b"]), "id": np.array([1])})


@struct
class Noted(Struct):
    number: int | None
    note: str | None = None
    pair: list[float] | None = None


@pytest.mark.parametrize(
    "source",
    [
        {
            "number": np.ma.MaskedArray([1, 2], mask=[False, True]),
            "note": np.array([None, "b"], dtype=object),
        },
        {
            "number": pd.Series([1, None], dtype="Int64", index=[5, 6]),
            "note": np.array([None, "b"], dtype=np.dtypes.StringDType(na_object=None)),
        },
        {
            "number": pa.chunked_array([[1], [], [None]]),
            "note": pd.Series([None, "b"], dtype="category"),
        },
        pd.DataFrame(
            {"number": pd.array([1, None], dtype="Int64"), "note": [None, "b"]}, index=[5, 6]
        ),
    ],
)
def test_pack_takes_arrays_of_every_library(source: Any) -> None:
    packed = Noted.pack(source)
    assert [Noted.from_bytes(row) for row in packed["data"]] == [Noted(1), Noted(None, "b")]


def test_pack_takes_arrays_of_two_dimensions() -> None:
    packed = Noted.pack({"number": np.array([1]), "pair": np.array([[1.5, 2.5]])})
    assert Noted.from_bytes(packed["data"][0]).pair == [1.5, 2.5]


def vector_of(kind: type[np.generic]) -> Any:
    return np.ndarray[Any, np.dtype[kind]]  # type: ignore[valid-type]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize(
    "value",
    [np.datetime64(5, "ns"), np.timedelta64(5, "ns"), np.complex128(1 + 2j), np.bytes_(b"5")],
    ids=lambda value: type(value).__name__,
)
def test_a_float_is_made_of_numbers_only(value: Any) -> None:
    for kind in (float, np.float32):
        with pytest.raises(TypeError, match="takes float"):
            made_of({"a": kind})(value)
    assert made_of({"a": float})(np.longdouble(1.5)).a == 1.5


def test_arrays_keep_their_values() -> None:
    def take(kind: Any, values: Any) -> Any:
        return made_of({"a": vector_of(kind)})(values).a.tolist()

    assert take(np.float64, np.array([2**53, -(2**63)])) == [2.0**53, -(2.0**63)]
    assert take(np.float32, [np.inf, -np.inf, 1.5]) == [np.inf, -np.inf, 1.5]
    assert take(np.int8, np.ma.MaskedArray([1, 2], mask=[False, False])) == [1, 2]
    assert take(np.int8, []) == take(np.bool_, []) == []
    assert take(np.uint8, [0, 255]) == [0, 255]
    for kind, values in (
        (np.float64, np.array([2**53 + 1])),
        (np.float64, np.array([2**63 - 1])),
        (np.float64, np.array([2**64 - 1], dtype="u8")),
        (np.float32, np.array([1e39])),
        (np.float32, np.array([0.0, -1e-46])),
        (np.float16, np.array([70_000])),
        (np.complex64, np.array([1 + 1e39j])),
        (np.complex64, np.array([1 + 1e-46j])),
        (np.int8, np.array([128])),
        (np.uint64, np.array([-1])),
    ):
        with pytest.raises(StructError, match=r"\.a: \w+ cannot hold a value of the array"):
            take(kind, values)
    with pytest.raises(StructError, match=r"\.a: an element of the array is masked"):
        take(np.int8, np.ma.MaskedArray([1, 2], mask=[False, True]))


def test_a_number_that_is_not_0_does_not_become_0() -> None:
    for kind, lost, part in (
        ("float32", 1e-46, "float32"),
        ("float16", -1e-9, "float16"),
        ("complex64", 1 + 1e-46j, "float32"),
    ):
        with pytest.raises(StructError, match=f"is out of the range of {part}"):
            made_of({"a": kind})(lost)
    assert str(made_of({"a": "float32"})(-0.0).a) == "-0.0"
    assert made_of({"a": "float32"})(1e-45).a > 0
    column = made_of({"a": "float32"}).pack({"a": np.array([1e-45], dtype="f4")})
    assert len(column["data"]) == 1
    with pytest.raises(StructError, match="out of the range of float32"):
        made_of({"a": "float32"}).pack({"a": np.array([1.0, 1e-46])})


def test_months_have_no_fixed_length() -> None:
    span = made_of({"a": "timedelta64[s]"})
    assert span(np.timedelta64(2, "D")).a == np.timedelta64(172_800, "s")
    with pytest.raises(
        StructError, match=r"\.a: a count of 5 months is not a whole number .* no fixed length"
    ):
        span(np.timedelta64(5, "M"))


@pytest.mark.parametrize(
    ("kind", "stored", "count"),
    [
        (dt.datetime, "datetime64[us]", 10**18),
        (dt.datetime, "datetime64[us]", -(2**63) + 1),
        (dt.date, "datetime64[D]", 3_000_000),
        (dt.date, "datetime64[D]", -3_000_000),
        (dt.date, "datetime64[D]", 2**62),
    ],
)
def test_times_of_other_writers_name_the_field(kind: Any, stored: str, count: int) -> None:
    make: Any = np.datetime64
    moment = make(count, stored[11:-1])
    written = made_of({"a": stored, "b": f"list['{stored}']"})(moment, [moment])
    read = made_of({"a": kind, "b": list[kind]}).from_bytes(bytes(written))
    for name in ("a", "b"):
        with pytest.raises(StructError, match=rf"Made\.{name}: {count} .* outside") as info:
            getattr(read, name)
        assert info.value.field == name
    with pytest.raises(StructError, match="annotate the field as"):
        repr(read)


def test_type_hints_can_be_read() -> None:
    hints = get_type_hints(Facts)
    assert (hints["number"], hints["author"], hints["owner"]) == (int, str | None, Person)


def test_aliases() -> None:
    element = TypeVar("element", bound=np.generic)
    vector = TypeAliasType("vector", np.ndarray[Any, np.dtype[element]], type_params=(element,))
    maybe = TypeAliasType("maybe", int | None)
    kind: Any = type(
        "Aliased", (Struct,), {"__annotations__": {"many": vector[np.int16], "one": maybe}}
    )
    found = struct(kind)(many=[1, 2], one=None)
    assert found.many.dtype == np.int16
    assert found.many.tolist() == [1, 2]
    assert found.one is None


ITSELF: Any = TypeAliasType("ITSELF", "ITSELF")


def test_an_alias_that_stands_for_itself_is_refused() -> None:
    kind: Any = type("Endless", (Struct,), {"__annotations__": {"one": ITSELF}})
    with pytest.raises(TypeError, match=r"Endless\.one: its type is a name that stands for itself"):
        struct(kind)


def test_text_annotations() -> None:
    namespace: dict[str, Any] = {"Optional": Optional, "Extra": Extra}
    source = """
class Texts:
    a: "datetime64[s]"
    b: "int32 | None"
    c: "S4"
    d: list["U2"]
    e: Optional["timedelta64[ns]"]
    f: "list[str] | None"
"""
    exec(source, namespace)  # noqa: S102 - the linter removes quotes elsewhere
    kind = struct(namespace["Texts"])
    types = ["datetime64[s]", "int32?", "S4", "list<U2>", "timedelta64[ns]?", "list<str>?"]
    assert kind.__struct_definition__.types == types
    made = kind(np.datetime64(5, "s"), None, b"ab", ["x", "yz"], np.timedelta64(3, "ns"), None)
    assert made.to_dict()["a"] == np.datetime64(5, "s")
    assert kind.from_bytes(bytes(made)) == made


UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", ["datetime64", "timedelta64"])
def test_every_unit(name: str, unit: str) -> None:
    kind: Any = struct(type("Times", (), {"__annotations__": {"at": f"{name}[{unit}]"}}))
    value = getattr(np, name)(7, unit)
    made = kind(value)
    assert made.at == value
    assert made.at.dtype == value.dtype
    (found,) = kind.unpack([made])["at"].tolist()
    assert found is not None
    assert [bytes(each) for each in kind.pack(kind.unpack([made]))["data"]] == [bytes(made)]


def made_of(annotations: dict[str, Any], **names: Any) -> Any:
    return struct(type("Made", (), {"__annotations__": annotations, **names}))


@pytest.mark.parametrize(
    ("annotations", "names", "text"),
    [
        ({}, {}, "has no fields"),
        ({"a": dict}, {}, "Made.a: the class dict is no type of a field"),
        ({"a": "nonsense"}, {}, "Made.a: 'nonsense' is no type of a field"),
        ({"a": np.datetime64}, {}, "a time needs its unit"),
        ({"a": int | str}, {}, "a field has one type"),
        ({"pack": int}, {}, "a method of structs has this name"),
        ({"a": int, "b": int}, {"a": 1}, "Made.b has no default"),
        ({"a": int}, {"__init__": print}, "cannot define __init__"),
        ({"a": int}, {"a": "x"}, "Made.a takes int64, not 'x'"),
        ({"a": np.longdouble}, {}, "is no type of a field"),
    ],
)
def test_classes_that_cannot_be(annotations: Any, names: Any, text: str) -> None:
    with pytest.raises(TypeError) as info:
        made_of(annotations, **names)
    assert text in str(info.value)


def test_subclasses_are_refused() -> None:
    with pytest.raises(TypeError, match="make a Person a field"):
        type("Other", (Person,), {})
    with pytest.raises(TypeError, match="is a class of structs already"):
        struct(Person)
    with pytest.raises(TypeError, match="inherits from other classes"):
        struct(type("Other", (dict,), {"__annotations__": {"a": int}}))


def test_other_buffers_are_copied() -> None:
    data = bytearray(bytes(Person("a", 1)))
    person = Person.from_bytes(data)
    data[-1] = 0xFF
    assert person.login == "a"
    assert memoryview(person).readonly
    with pytest.raises(TypeError, match=r"Person.from_bytes takes bytes, not str"):
        Person.from_bytes("a")  # type: ignore[arg-type]


def test_a_descriptor_reads_its_own_class_only() -> None:
    with pytest.raises(TypeError, match="is a field of Person"):
        vars(Person)["login"].__get__(facts())
    assert repr(Person.login) == "<field login: str>"
