"""The statistics of an audit: pure functions of counts.

    distributions   normal and Student quantiles, exact binomial tail
    rates           a share with its interval, for independent and for clustered observations
    correlation     Spearman's rho and the AUC, from tables with multiplicities
    misselection    how often the judge picked the side that failed
    consistency     what the judge does when the order of the sides is swapped
    satisfaction    what a satisfied judge says about success
    ranking         whether a gate ranks agents as their rewards do
    agent_pairs     every two agents compared, as sets that can be resampled
    bootstrap       resampling of whole clusters, all resamples counted at once
    linearised      the variance between clusters of a number that is made of sums
    trials          pass^k over repeated trials of a task
    agreement       chance-corrected agreement of two labellers
    rubrics         how well generated rules stand for the gold ones
    paired          two ways of judging the same pairs

Every function takes counts or small tables, as a GROUP BY gives them, and returns a frozen value. Nothing but
`task_permutation` imports numpy, and nothing scipy: the tests hold these functions against them.
"""
