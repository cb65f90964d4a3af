package import Budgets
package import Observability

extension Metrics {
  /// Registers the figures of a budget.
  ///
  /// - Parameters:
  ///   - name: the name of the budget, which is the label `budget`.
  ///   - read: returns the figures, on any thread.
  package func budget(named name: String, _ read: @escaping @Sendable () -> BudgetStatistics) {
    let labels: Labels = ["budget": name]
    gauge("awd_budget_capacity", "Amount that all owners may hold", labels) {
      Double(read().capacity)
    }
    gauge("awd_budget_held", "Amount that is held", labels) { Double(read().held) }
    gauge("awd_budget_owners", "Owners that hold something", labels) { Double(read().owners) }
    counter("awd_budget_refused_total", "Requests to a budget that were refused", labels) {
      Double(read().refused)
    }
    counter("awd_budget_lost_total", "Holdings that the largest owner lost", labels) {
      Double(read().lost)
    }
  }
}
