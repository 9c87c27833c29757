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
        abstract: "Replace the RSA key in Redis that signs id_tokens; no gateway has to be restarted.",
        discussion: """
            The new key is published at once and signs an hour later, when clients know it. The old one stays published \
            until its id_tokens have ended.
            """
    )

    @OptionGroup var options: SettingsOptions
    @OptionGroup var named: SettingsFileArgument
    @OptionGroup var insecure: InsecureOptions

    @Flag(
        help: """
            Forget the old keys, for example because one was stolen or their secret is lost. The new key signs at once, and \
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
                SIGHUP again; remove the old key when its id_tokens have ended
                """
            )
        }
        guard settings.store.isShared, let secrets = settings.secrets else {
            throw Console.failure(
                """
                store.memory keeps no key: each gateway makes one of its own, which ends with it. Configure store.redis, \
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
                \(isDiscard ? "earlier keys are not published any more" : "there was no other")
                """
        }
        return """
            made key \(rotation.keyID), which is published from now on and signs id_tokens from \
            \(rotation.signsFrom.rfc3339Seconds) on
            until then clients learn of it (caches keep jwks.json for \(KeysStep.maxAge)), and \(former.keyID) signs
            \(former.keyID) stays published until its id_tokens have ended: \(former.publishedUntil.rfc3339Seconds)
            every gateway of this \(store.title) follows by itself
            """
    }

    private static func sentence(_ refusal: IDTokenKeys.RotationRefusal, of store: StoreSettings) -> String {
        switch refusal {
        case .waiting(let keyID, let until):
            "key \(keyID) of an earlier rotation waits: it signs from \(until.rfc3339Seconds) on; rotate again after that"
        case .failure(.unreadable): IDTokenKeyFailure.unreadable.sentence
        case .failure(.unavailable):
            """
            \(store.title) did not confirm the change: `sallyport check --network` says what is wrong with it; then rotate again, \
            which is refused if the change was made after all
            """
        }
    }
}
