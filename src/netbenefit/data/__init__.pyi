from .duckdb import (
    OpenTable as OpenTable,
    QueryBar as QueryBar,
    escaped as escaped,
    open_source as open_source,
    read_raw as read_raw,
    read_table as read_table,
    size_of_file as size_of_file,
    size_of_table as size_of_table,
)
from .engine import (
    EngineTable as EngineTable,
    Groups as Groups,
    Tell as Tell,
    flag as flag,
    group_numbers as group_numbers,
    in_halves as in_halves,
    is_lazy as is_lazy,
)
from .files import (
    FileFormat as FileFormat,
    RawFile as RawFile,
    write_csv as write_csv,
)
from .labels import (
    Outcome as Outcome,
    asked_label as asked_label,
    check_both_classes as check_both_classes,
    check_no_missing as check_no_missing,
    event_place as event_place,
    find_target as find_target,
    is_event as is_event,
    label_in as label_in,
    learner_of_codes as learner_of_codes,
    match_labels as match_labels,
    read_event as read_event,
    read_outcome as read_outcome,
    sorted_labels as sorted_labels,
    warn_of_constants as warn_of_constants,
)
from .patterns import (
    PatternTable as PatternTable,
    merge_rows as merge_rows,
)
from .raw_table import (
    LazyColumns as LazyColumns,
    RawColumn as RawColumn,
    RawTable as RawTable,
    Storage as Storage,
    as_array as as_array,
    comma_error as comma_error,
    mixed_error as mixed_error,
    raw_column as raw_column,
    raw_rows as raw_rows,
    storage_of as storage_of,
    with_commas as with_commas,
)
from .sources import (
    Engine as Engine,
    Source as Source,
    duckdb_errors as duckdb_errors,
    find_source as find_source,
    name as name,
    text as text,
)
