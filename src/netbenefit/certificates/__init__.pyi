from .certificate import (
    Certificate as Certificate,
    make_certificate as make_certificate,
)
from .judge import (
    Verdict as Verdict,
    verify as verify,
)
