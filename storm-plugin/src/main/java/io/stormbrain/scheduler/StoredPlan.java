package io.stormbrain.scheduler;

import io.stormbrain.thrift.Plan;
import io.stormbrain.thrift.PlanRef;

/**
 * A plan as it was read.
 *
 * @param digest SHA-256 (hex) of the plan's uncompressed bytes, computed here
 */
record StoredPlan(Plan plan, String digest) {

    boolean is(PlanRef ref) {
        return plan.getEpoch() == ref.getEpoch() && digest.equalsIgnoreCase(ref.getDigest());
    }

    /** "plan epoch 3 by metis". */
    String title() {
        return "plan epoch " + plan.getEpoch() + " by " + plan.getAlgorithm();
    }

    /** "(inter-node 12 → 3)". */
    String gain() {
        return "(inter-node " + figure(plan.getBefore().getInter_node()) + " → "
                + figure(plan.getAfter().getInter_node()) + ")";
    }

    private static String figure(double value) {
        return value == Math.rint(value) && Math.abs(value) < 1e15
                ? Long.toString((long) value) : String.format(java.util.Locale.ROOT, "%.2f", value);
    }
}
