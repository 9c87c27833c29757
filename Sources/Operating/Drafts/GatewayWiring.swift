package import ArgumentParser
package import NIOCore
package import Sessions
package import Settings

/// The functions that assemble parts of a gateway, for commands that inspect them. Only the executable can assemble
/// these parts, and passes the functions to the commands.
package struct GatewayWiring: Sendable {
    /// Assembles a gateway without starting it. Throws `StartRefusal` if the gateway could not start.
    let draft: @Sendable (LoadedSettings) throws -> Draft
    /// Makes the store. It connects when started.
    let backing: @Sendable (StoreSettings, ProcessKeys, any EventLoopGroup) throws -> any StoreBacking
    /// Checks the servers of the store; `nil` if it has no servers.
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

/// A command that inspects parts of a gateway.
package protocol WiredCommand: ParsableCommand {
    /// Runs the command.
    func run(with wiring: GatewayWiring) async throws
}
