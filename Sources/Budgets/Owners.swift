package import Formats

extension ClientNetwork: BudgetOwner {
  /// The site, and the network itself.
  package var ancestry: [AnyHashable] { [AnyHashable(siteKey), AnyHashable(self)] }
}

/// An account as the clients of one network use it, so that neighbours behind one address have parts of the network's share.
package struct ClientAccount: BudgetOwner {
  private let network: ClientNetwork
  /// The hash of the account, or 0 for clients that haven't logged in.
  private let account: Int

  /// - Parameter account: the account; nil for none.
  package init(_ network: ClientNetwork, _ account: (some Hashable)?) {
    self.network = network
    self.account = account?.hashValue ?? 0
  }

  /// The site, the network, and the account.
  package var ancestry: [AnyHashable] { network.ancestry + [AnyHashable(account)] }

  /// The network has the share.
  package static var shareHeight: Int { 1 }
}

// Names and numbers of owners that belong to no wider ones.
extension String: BudgetOwner {}
extension Int: BudgetOwner {}
