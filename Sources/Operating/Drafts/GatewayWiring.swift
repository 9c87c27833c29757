package import ArgumentParser
package import NIOCore
package import Sessions
package import Settings

/// The functions that assemble a gateway's parts, for commands that inspect the parts without starting a gateway. The
/// executable passes the wiring to each command that needs it.
package struct GatewayWiring: Sendable {
    /// Assembles the gateway of these settings. Throws a `StartRefusal` with the message that a start would print.
    let draft: @Sendable (LoadedSettings) throws -> Draft
    /// Makes the store of these settings. The store connects when it is started.
    let backing: @Sendable (StoreSettings, ProcessKeys, any EventLoopGroup) throws -> any StoreBacking
    /// Checks the servers of the store of these settings. Returns `nil` if the store has no servers.
    let checkStore: @Sendable (StoreSettings) async throws -> [Verdict]?
    /// Checks a provider of any kind.
    let checkProvider: ProviderCheck.OfAnyKind

    package init(
        draft: @escaping @Sendable (LoadedSettings) throws -> Draft,
        backing: @escaping @Sendable (StoreSettings, ProcessKeys, any EventLoopGroup) throws -> any StoreBacking,
        checkStore: @escaping @Sendable (StoreSettings) async throws -> [Verdict]?,
        checkProvider: @escaping ProviderCheck.OfAnyKind
    ) {
        self.draft = draft
        self.backing = backing
        self.checkStore = checkStore
        self.checkProvider = checkProvider
    }
}

/// A command that inspects the parts of a gateway.
package protocol WiredCommand: ParsableCommand {
    /// Runs the command.
    func run(with wiring: GatewayWiring) async throws
}
