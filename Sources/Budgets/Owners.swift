package import Formats

extension ClientNetwork: BudgetOwner {
  /// The site, and the network itself.
  package var ancestry: [AnyHashable] { [AnyHashable(siteKey), AnyHashable(self)] }
}

// Names and numbers of owners that belong to no wider ones.
extension String: BudgetOwner {}
extension Int: BudgetOwner {}
