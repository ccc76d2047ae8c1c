from .draft import (
    Draft as Draft,
    Edit as Edit,
    MoveCut as MoveCut,
    Rename as Rename,
    SetAnswer as SetAnswer,
    SetLimits as SetLimits,
    SetPoints as SetPoints,
    Solved as Solved,
    SwitchOff as SwitchOff,
    SwitchOn as SwitchOn,
    TakeOver as TakeOver,
)
from .saving import (
    finished_card as finished_card,
    python_code as python_code,
    report_page as report_page,
)
from .server import (
    Server as Server,
    check_installed as check_installed,
    open_studio as open_studio,
)
from .session import (
    Search as Search,
    Session as Session,
    Step as Step,
)
