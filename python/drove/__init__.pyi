import dataclasses
from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

__version__: str

class DroveError(RuntimeError): ...

@dataclasses.dataclass(frozen=True)
class Progress:
    epochs: float
    epochs_total: float
    fraction: float
    examples: int
    updates: int
    train_s: float
    examples_per_s: float
    eta_s: float
    loss: float
    loss_initial: float
    accuracy: float
    test_loss: float
    test_accuracy: float
    target_loss: float
    n_workers: int
    evaluated: bool
    validation_loss: float
    validation_accuracy: float

_LossFunction = Callable[[np.ndarray, np.ndarray], Tuple[Any, Any]]

class Loss:
    function: _LossFunction
    name: str
    outputs: str
    has_one_output: bool
    def __init__(
        self,
        function: _LossFunction,
        name: Optional[str] = None,
        outputs: Literal["plain", "sigmoid", "softmax"] = "plain",
        has_one_output: bool = False,
    ) -> None: ...
    def check(self, outputs: Any, targets: Any, bound: float = 0.0) -> float: ...

class Model:
    n_features: int
    n_outputs: int
    n_classes: int
    n_parameters: int
    is_multi_label: bool
    gives_probability: bool
    is_table: bool
    is_sparse: bool
    spec: str
    loss: str
    def __init__(self, name: str) -> None: ...
    @classmethod
    def from_bytes(cls, data: bytes) -> Model: ...
    def to_bytes(self) -> bytes: ...
    def save(self, path: Any) -> None: ...
    def export(self, path: Any, form: Optional[str] = None) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def class_names(self) -> Optional[List[str]]: ...
    @property
    def parameters(self) -> Dict[str, np.ndarray]: ...
    def set_parameters(self, values: Mapping[str, Any]) -> None: ...
    def outputs(self, x: Any, threads: int = 0) -> np.ndarray: ...
    def table_outputs(self, x: Any, names: Optional[Sequence[str]], threads: int = 0) -> np.ndarray: ...
    def remarks(self, x: Any) -> str: ...
    def table_remarks(self, x: Any, names: Optional[Sequence[str]]) -> str: ...
    def stream(self, x: Any, threads: int = 0) -> Any: ...
    def probabilities(self, x: Any, threads: int = 0) -> np.ndarray: ...
    def evaluate(
        self,
        data: Any,
        threads: int = 0,
        loss: Union[None, _LossFunction, Loss] = None,
        threshold: Union[None, float, str] = None,
    ) -> Dict[str, Any]: ...

class Result:
    outcome: str
    summary: Dict[str, Any]
    model: Optional[Model]
    history: List[Dict[str, Any]]
    def __init__(
        self,
        outcome: str,
        summary: Dict[str, Any],
        model: Optional[Model],
        history: Sequence[Dict[str, Any]] = (),
    ) -> None: ...

class Interrupted(KeyboardInterrupt):
    result: Result
    def __init__(self, result: Result) -> None: ...

def load_model(path: Any) -> Model: ...
def options() -> Dict[str, Tuple[Optional[str], str]]: ...
def read_log(folder: Any) -> List[Dict[str, Any]]: ...
def train(
    data: Any = None,
    label: Optional[str] = None,
    *,
    on_progress: Optional[Callable[[Progress], Any]] = None,
    on_evaluated: Optional[Callable[[Progress], Any]] = None,
    on_message: Optional[Callable[[str], Any]] = None,
    verbose: bool = False,
    interrupt: str = "raise",
    **options: Any,
) -> Result: ...

class _Drove(BaseEstimator):
    model: Optional[str]
    loss: Union[None, str, _LossFunction, Loss]
    strategy: str
    rule: str
    lr: Union[str, float]
    schedule: str
    weight_decay: float
    batch: Union[str, int]
    until: str
    features: Optional[str]
    precision: Optional[str]
    n_jobs: Optional[int]
    random_state: Any
    warm_start: bool
    verbose: bool
    interrupt: str
    options: Optional[Mapping[str, Any]]
    n_features_in_: int
    feature_names_in_: np.ndarray
    summary_: Dict[str, Any]
    history_: List[Dict[str, Any]]
    loss_: float
    lr_: float
    n_iter_: int
    @property
    def model_(self) -> Model: ...
    @property
    def coefs_(self) -> Dict[str, np.ndarray]: ...
    @property
    def pack_(self) -> Dict[str, Any]: ...
    @property
    def coef_(self) -> np.ndarray: ...
    @property
    def intercept_(self) -> Any: ...
    @property
    def feature_importances_(self) -> np.ndarray: ...

class DroveClassifier(_Drove, ClassifierMixin):
    class_weight: Any
    classes_: np.ndarray
    def __init__(
        self,
        model: Optional[str] = None,
        *,
        loss: Union[None, str, _LossFunction, Loss] = None,
        strategy: str = "auto",
        rule: str = "auto",
        lr: Union[str, float] = "auto",
        schedule: str = "auto",
        weight_decay: float = 0.0,
        batch: Union[str, int] = "auto",
        until: str = "auto",
        features: Optional[str] = None,
        precision: Optional[str] = None,
        class_weight: Any = None,
        n_jobs: Optional[int] = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: bool = False,
        interrupt: str = "raise",
        options: Optional[Mapping[str, Any]] = None,
    ) -> None: ...
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        eval_set: Any = None,
        callbacks: Union[None, Callable[[Progress], Any], Sequence[Callable[[Progress], Any]]] = None,
    ) -> DroveClassifier: ...
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> DroveClassifier: ...
    def predict(self, X: Any, threshold: Optional[float] = None) -> np.ndarray: ...
    def predict_proba(self, X: Any) -> np.ndarray: ...
    def predict_log_proba(self, X: Any) -> np.ndarray: ...
    def decision_function(self, X: Any) -> np.ndarray: ...
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

class DroveRegressor(_Drove, RegressorMixin):
    def __init__(
        self,
        model: Optional[str] = None,
        *,
        loss: Union[None, str, _LossFunction, Loss] = None,
        strategy: str = "auto",
        rule: str = "auto",
        lr: Union[str, float] = "auto",
        schedule: str = "auto",
        weight_decay: float = 0.0,
        batch: Union[str, int] = "auto",
        until: str = "auto",
        features: Optional[str] = None,
        precision: Optional[str] = None,
        n_jobs: Optional[int] = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: bool = False,
        interrupt: str = "raise",
        options: Optional[Mapping[str, Any]] = None,
    ) -> None: ...
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        eval_set: Any = None,
        callbacks: Union[None, Callable[[Progress], Any], Sequence[Callable[[Progress], Any]]] = None,
    ) -> DroveRegressor: ...
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DroveRegressor: ...
    def predict(self, X: Any) -> np.ndarray: ...
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...
