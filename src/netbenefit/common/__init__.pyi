from .checks import (
    FloatArray as FloatArray,
    InputError as InputError,
    InputWarning as InputWarning,
    IntArray as IntArray,
    LeakWarning as LeakWarning,
    Message as Message,
    Remedy as Remedy,
    RowNumber as RowNumber,
    SmallTableWarning as SmallTableWarning,
    by_name as by_name,
    check_binary as check_binary,
    check_count as check_count,
    check_level as check_level,
    check_names as check_names,
    check_option as check_option,
    check_risks as check_risks,
    check_seed as check_seed,
    check_threads as check_threads,
    check_weights as check_weights,
    did_you_mean as did_you_mean,
    drop_it as drop_it,
    exact_number as exact_number,
    meaning_of as meaning_of,
    raise_all as raise_all,
    read_parts as read_parts,
    rows_named as rows_named,
    setting as setting,
    shorten as shorten,
)
from .files import (
    asset as asset,
    check_target as check_target,
    replacing as replacing,
    write_bytes as write_bytes,
    write_text as write_text,
)
from .install import (
    install_command as install_command,
    upgrade_advice as upgrade_advice,
)
from .journal import (
    Journal as Journal,
    Progress as Progress,
    fingerprint_of as fingerprint_of,
    open_journal as open_journal,
    run_tasks as run_tasks,
)
from .numbers import (
    LARGEST_EXACT as LARGEST_EXACT,
    MAX_DECIMALS as MAX_DECIMALS,
    are_whole as are_whole,
    find_decimals as find_decimals,
    minimise_by_newton as minimise_by_newton,
    relative_gap as relative_gap,
    to_step as to_step,
    to_steps as to_steps,
)
from .parallel import (
    WorkerDied as WorkerDied,
    finished_tasks as finished_tasks,
    one_by_one as one_by_one,
    only_task_here as only_task_here,
    tasks_at_once as tasks_at_once,
    threads_here as threads_here,
)
from .progress import (
    Display as Display,
    TaskBar as TaskBar,
)
from .signs import (
    SPELL_OUT as SPELL_OUT,
    shown_on_stdout as shown_on_stdout,
    spell_out as spell_out,
    stdout_encoding as stdout_encoding,
)
from .strict_json import (
    Value as Value,
    absent as absent,
    at as at,
    check_object as check_object,
    or_null as or_null,
    parse as parse,
    read_boolean as read_boolean,
    read_fraction as read_fraction,
    read_integer as read_integer,
    read_list as read_list,
    read_number as read_number,
    read_object as read_object,
    read_text as read_text,
    read_value as read_value,
    show as show,
    wrong as wrong,
)
from .table import (
    Table as Table,
    Tabular as Tabular,
    display_width as display_width,
    format_count as format_count,
    format_number as format_number,
    format_p_value as format_p_value,
    format_percent as format_percent,
    format_table as format_table,
)
