// Package retry tries again what failed, where that is safe: which errors, how
// often, after which delay, and within which budget.
//
// [Budget] holds the retries of all who share it to a share of their requests;
// [BudgetCore] is its pure part.
package retry
