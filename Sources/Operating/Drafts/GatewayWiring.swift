package import ArgumentParser
package import NIOCore
package import Sessions
package import Settings

/// How a gateway's parts are put together, for commands that look at these parts without starting a gateway. The
/// executable has the wiring and hands it to each command that needs it.
package struct GatewayWiring: Sendable {
    /// Assembles the gateway of these settings, or throws a `StartRefusal` with the message of a start.
    let draft: @Sendable (LoadedSettings) throws -> Draft
    /// Makes the store of these settings. It connects when it is started.
    let backing: @Sendable (StoreSettings, ProcessKeys, any EventLoopGroup) throws -> any StoreBacking
    /// Asks the servers of the store of these settings, and returns what is right and wrong with them; `nil` without
    /// servers.
    let checkStore: @Sendable (StoreSettings) async throws -> [Verdict]?
    /// Asks a provider of any kind, and returns what is right and wrong with it.
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

/// A command that looks at the parts of a gateway.
package protocol WiredCommand: ParsableCommand {
    /// Does the work of the command.
    func run(with wiring: GatewayWiring) async throws
}
