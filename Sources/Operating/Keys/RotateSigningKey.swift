import ArgumentParser
import Endpoints
import JOSE
import Observability
import Sessions
import Settings
import SignOn
import Transport
import Vocabulary

/// `sallyport keys rotate-signing`: replaces the key in the store that signs id_tokens.
struct RotateSigningKey: WiredCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate-signing",
        abstract: "Replace the RSA key in Redis that signs id_tokens. No gateway needs a restart.",
        discussion: """
            The new key is published at once and signs an hour later, when clients know it. The old key stays published \
            until its id_tokens have expired.
            """
    )

    @OptionGroup var options: SettingsOptions
    @OptionGroup var named: SettingsFileArgument
    @OptionGroup var insecure: InsecureOptions

    @Flag(
        help: """
            Remove the old keys, for example because one was stolen or their secret is lost. The new key signs at once, and \
            clients refuse all earlier id_tokens.
            """
    )
    var discard = false

    func validate() throws { try self.named.validate(besides: self.options) }

    func run(with wiring: GatewayWiring) async throws {
        let options = self.options.naming(self.named)
        let loaded: LoadedSettings
        do throws(SettingsFailure) {
            loaded = try options.load(self.insecure.flags)
        } catch {
            throw Console.failure(options.report(error))
        }
        let settings = loaded.settings
        if let pem = settings.signingKeys, (try? SigningKeyFile(pem: pem))?.idTokens != nil {
            throw Console.failure(
                """
                signing_key_file has an RSA key, which signs instead of the one in the store: append a new RSA key to the \
                file, send SIGHUP to every gateway, wait \(KeysStep.settling), move the new key before the old one, and send \
                SIGHUP again; remove the old key when its id_tokens have expired
                """
            )
        }
        guard settings.store.isShared, let secrets = settings.secrets else {
            throw Console.failure(
                """
                store.memory keeps no key: each gateway makes its own, which is lost when it ends. Configure store.redis, \
                or write an RSA key into signing_key_file (openssl genrsa 2048)
                """
            )
        }
        let keys = ProcessKeys(secrets)
        let group = try TransportGroup(count: 1)
        let backing: any StoreBacking
        do {
            backing = try wiring.backing(settings.store, keys, group)
            try await backing.start()
        } catch {
            throw Console.failure("\(error)")
        }
        let idTokenKeys = IDTokenKeys(store: backing.store, ring: keys.sealing, loops: group, clock: backing.clock)
        let outcome: Result<IDTokenKeys.Rotation, IDTokenKeys.RotationRefusal>
        do throws(IDTokenKeys.RotationRefusal) {
            outcome = .success(
                try await idTokenKeys.rotate(after: KeySetEndpoints.settlingTime, discards: self.discard)
            )
        } catch {
            outcome = .failure(error)
        }
        await backing.stop()
        switch outcome {
        case .success(let rotation): Console.say(Self.sentence(rotation, isDiscard: self.discard, in: settings.store))
        case .failure(let refusal): throw Console.failure(Self.sentence(refusal, of: settings.store))
        }
    }

    private static func sentence(_ rotation: IDTokenKeys.Rotation, isDiscard: Bool, in store: StoreSettings)
        -> String
    {
        guard let former = rotation.former else {
            return """
                made key \(rotation.keyID), which signs id_tokens from now on
                \(isDiscard ? "earlier keys are no longer published" : "there was no earlier key")
                """
        }
        return """
            made key \(rotation.keyID), which is now published and signs id_tokens from \
            \(rotation.signsFrom.rfc3339Seconds) on
            until then \(former.keyID) signs, and clients learn about the new key (they cache jwks.json for \(KeysStep.maxAge))
            \(former.keyID) stays published until its id_tokens have expired: \(former.publishedUntil.rfc3339Seconds)
            all gateways of this \(store.title) switch by themselves
            """
    }

    private static func sentence(_ refusal: IDTokenKeys.RotationRefusal, of store: StoreSettings) -> String {
        switch refusal {
        case .waiting(let keyID, let until):
            "key \(keyID) of an earlier rotation is still waiting: it signs from \(until.rfc3339Seconds) on; rotate again after that"
        case .failure(.unreadable): IDTokenKeyFailure.unreadable.sentence
        case .failure(.unavailable):
            """
            \(store.title) did not confirm the change: run `sallyport check --network` to find the problem, then rotate again, \
            which is refused if the change was made after all
            """
        }
    }
}
