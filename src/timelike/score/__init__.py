"""Scores of classification, retrieval, verification, clustering and forecasting, with confidence intervals."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from .calibration import (
        CalibrationWarning as CalibrationWarning,
        Reliability as Reliability,
        brier_score as brier_score,
        expected_calibration_error as expected_calibration_error,
        negative_log_likelihood as negative_log_likelihood,
        reliability as reliability,
        temperature as temperature,
    )
    from .classification import (
        ClassificationScores as ClassificationScores,
        ClassScores as ClassScores,
        GroupScores as GroupScores,
        accuracy as accuracy,
        accuracy_by_group as accuracy_by_group,
        balanced_accuracy as balanced_accuracy,
        classification_scores as classification_scores,
        confusion_matrix as confusion_matrix,
        is_correct as is_correct,
        macro_f1 as macro_f1,
    )
    from .clustering import (
        adjusted_rand as adjusted_rand,
        normalized_mutual_info as normalized_mutual_info,
        purity as purity,
        silhouette as silhouette,
        silhouette_samples as silhouette_samples,
    )
    from .forecasting import (
        HorizonScores as HorizonScores,
        at_step as at_step,
        best_of_n as best_of_n,
        coverage as coverage,
        crps as crps,
        crps_quantiles as crps_quantiles,
        energy_score as energy_score,
        frechet_distance as frechet_distance,
        fvd as fvd,
        horizon_scores as horizon_scores,
        interval_width as interval_width,
        lpips as lpips,
        mae as mae,
        mase as mase,
        mean_to_step as mean_to_step,
        mse as mse,
        pinball_loss as pinball_loss,
        psnr as psnr,
        rank_samples as rank_samples,
        skill as skill,
        ssim as ssim,
    )
    from .intervals import (
        Interval as Interval,
        bootstrap as bootstrap,
        interval as interval,
        wilson_interval as wilson_interval,
    )
    from .novelty import (
        OpenSetCurve as OpenSetCurve,
        novelty_auroc as novelty_auroc,
        novelty_errors as novelty_errors,
        open_set_curve as open_set_curve,
        unknown_accept_rate as unknown_accept_rate,
    )
    from .regression import RegressionScores as RegressionScores, r2 as r2, regression_scores as regression_scores
    from .retrieval import (
        RetrievalScores as RetrievalScores,
        average_precision as average_precision,
        is_nearest_correct as is_nearest_correct,
        mean_average_precision as mean_average_precision,
        nearest_accuracy as nearest_accuracy,
        precision_at_k as precision_at_k,
        r_precision as r_precision,
        recall_at_k as recall_at_k,
        retrieval_scores as retrieval_scores,
    )
    from .significance import (
        FriedmanResult as FriedmanResult,
        PairedComparison as PairedComparison,
        bootstrap_p_value as bootstrap_p_value,
        cliques as cliques,
        corrected_t_test as corrected_t_test,
        critical_difference as critical_difference,
        friedman_test as friedman_test,
        holm_correction as holm_correction,
        mcnemar_test as mcnemar_test,
        method_ranks as method_ranks,
        paired_bootstrap as paired_bootstrap,
        permutation_test as permutation_test,
        significant_pairs as significant_pairs,
    )
    from .verification import (
        VerificationErrors as VerificationErrors,
        equal_error_interval as equal_error_interval,
        equal_error_rate as equal_error_rate,
        error_band as error_band,
        errors_interval as errors_interval,
        item_pairs as item_pairs,
        minimum_cost as minimum_cost,
        minimum_cost_interval as minimum_cost_interval,
        resampled_error_rates as resampled_error_rates,
        resampled_errors as resampled_errors,
        verification_errors as verification_errors,
    )

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__)
