"""(truth, answer) → number, with intervals."""

from typing import TYPE_CHECKING

from .._contents import contents

if TYPE_CHECKING:  # the public names, a line each
    from .calibration import (
        Reliability as Reliability,
        brier_score as brier_score,
        expected_calibration_error as expected_calibration_error,
        negative_log_likelihood as negative_log_likelihood,
        reliability as reliability,
        temperature as temperature,
    )
    from .classification import (
        Classification as Classification,
        ClassScores as ClassScores,
        accuracy as accuracy,
        balanced_accuracy as balanced_accuracy,
        classification_scores as classification_scores,
        confusion as confusion,
        correct as correct,
        macro_f1 as macro_f1,
    )
    from .clustering import (
        adjusted_rand as adjusted_rand,
        mutual_information as mutual_information,
        purity as purity,
        silhouette as silhouette,
        silhouette_samples as silhouette_samples,
    )
    from .ensembles import (
        best_first as best_first,
        best_of as best_of,
        crps as crps,
        crps_quantiles as crps_quantiles,
        energy_score as energy_score,
    )
    from .forecasting import (
        coverage as coverage,
        mae as mae,
        mase as mase,
        mse as mse,
        pinball as pinball,
        skill as skill,
        width as width,
    )
    from .frechet import frechet_distance as frechet_distance, fvd as fvd
    from .futures import at as at, up_to as up_to
    from .horizons import HorizonScores as HorizonScores, horizon_scores as horizon_scores
    from .intervals import Interval as Interval, bootstrap as bootstrap, interval as interval, wilson as wilson
    from .novelty import (
        OpenSet as OpenSet,
        novelty_auroc as novelty_auroc,
        novelty_errors as novelty_errors,
        open_set_curve as open_set_curve,
        unknowns_accepted as unknowns_accepted,
    )
    from .paired import (
        Paired as Paired,
        corrected_t as corrected_t,
        holm as holm,
        mcnemar as mcnemar,
        p_of_draws as p_of_draws,
        paired_bootstrap as paired_bootstrap,
        permutation as permutation,
    )
    from .perceptual import lpips as lpips
    from .pictures import psnr as psnr, ssim as ssim
    from .ranking import (
        Friedman as Friedman,
        cliques as cliques,
        critical_difference as critical_difference,
        friedman as friedman,
        pairs_apart as pairs_apart,
        ranks as ranks,
    )
    from .retrieval import (
        average_precision as average_precision,
        mean_average_precision as mean_average_precision,
        nearest_accuracy as nearest_accuracy,
        nearest_correct as nearest_correct,
        precision_at as precision_at,
        r_precision as r_precision,
        recall_at as recall_at,
    )
    from .subjects import (
        equal_error_interval as equal_error_interval,
        error_band as error_band,
        errors_interval as errors_interval,
        item_pairs as item_pairs,
        minimum_cost_interval as minimum_cost_interval,
        resampled_error_rates as resampled_error_rates,
        resampled_errors as resampled_errors,
    )
    from .verification import (
        Errors as Errors,
        equal_error_rate as equal_error_rate,
        minimum_cost as minimum_cost,
        verification_errors as verification_errors,
    )

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = contents(__name__, top=False)
