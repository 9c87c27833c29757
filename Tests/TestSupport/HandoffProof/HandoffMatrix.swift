import Sessions
import SignOn
import StoreBench
import Vocabulary

/// The outcome matrix: every transport, binding, place, session of the browser, policy and state of the token.
package enum HandoffMatrix {
    /// The session that the browser has.
    enum Existing: CaseIterable, Sendable { case none, sameUserShorter, sameUserLonger, otherUser, ended }

    /// What has become of the token before it is presented.
    enum State: CaseIterable, Sendable { case fresh, used, burned, appSignedOut, otherHost }

    /// One cell.
    package struct Cell: Sendable, CustomStringConvertible {
        var transport: HandoffTransport
        var place: Place
        var existing: Existing
        var state: State
        var policy: HandoffPolicy

        package var description: String {
            "\(self.transport.rawValue), \(self.policy), at \(self.place), browser \(self.existing), token \(self.state)"
        }
    }

    /// All cells.
    package static let cells: [Cell] = {
        var cells: [Cell] = []
        for transport in HandoffTransport.allCases {
            for place in Place.allCases {
                for existing in Existing.allCases {
                    for state in State.allCases {
                        for policy in Self.policies {
                            cells.append(
                                Cell(
                                    transport: transport,
                                    place: place,
                                    existing: existing,
                                    state: state,
                                    policy: policy
                                )
                            )
                        }
                    }
                }
            }
        }
        return cells
    }()

    private static let policies: [HandoffPolicy] = {
        var policies: [HandoffPolicy] = []
        for binding in BindingMode.allCases {
            for number in 0..<8 {
                var policy = HandoffPolicy()
                policy.binding = binding
                policy.isDryRun = number & 1 != 0
                policy.burns = number & 2 != 0
                policy.revokesDerived = number & 4 != 0
                policies.append(policy)
            }
        }
        return policies
    }()

    /// Presents the token of a cell to a gateway and to the model, and then the same token from the same browser once
    /// more. Throws `Difference`.
    ///
    /// - Parameter number: Makes the cell's users its own.
    package static func run(_ cell: Cell, number: Int, on bench: HandoffWalkBench) async throws {
        do {
            try await Self.compare(cell, number, bench)
        } catch {
            throw Difference("\(cell): \(error)")
        }
    }

    private static func compare(_ cell: Cell, _ number: Int, _ bench: HandoffWalkBench) async throws {
        let (user, other) = ("alice \(number)", "bob \(number)")
        var pair = HandoffPair(bench)
        try await pair.signInApp(user)
        try await pair.mint(0, at: .home, for: cell.state == .otherHost ? "other.example.com" : nil)
        var given = HandoffModel.Presentation(
            token: 0,
            existing: nil,
            place: .home,
            host: HandoffWalkBench.host,
            policy: HandoffPolicy(),
            now: bench.clock.now
        )
        switch cell.state {
        case .fresh, .otherHost: break
        case .used: _ = try await pair.present(given, gateway: 0)
        case .burned:
            given.place = .elsewhere
            _ = try await pair.present(given, gateway: 0)
        case .appSignedOut: try await pair.signOut(app: 0)
        }
        switch cell.existing {
        case .none: given.existing = nil
        case .sameUserShorter: given.existing = try await pair.signInBrowser(user, life: .seconds(600))
        case .sameUserLonger: given.existing = try await pair.signInBrowser(user)
        case .otherUser: given.existing = try await pair.signInBrowser(other)
        case .ended:
            let web = try await pair.signInBrowser(other)
            try await pair.signOut(web: web)
            given.existing = web
        }
        given.place = cell.place
        given.policy = cell.policy
        given.existing = try await pair.present(given, by: cell.transport, gateway: number)
        try await pair.compareSessions()
        _ = try await pair.present(given, by: cell.transport, gateway: number + 1)
        try await pair.compareSessions()
    }
}
