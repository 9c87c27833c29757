import Calls
import JOSE
import Providers
import Sessions
import Settings
import SocialBench
import StoreBench
import Vocabulary

/// The verifiers, and the doubles of what they ask: what a test does not change is a sign-in that succeeds.
final class SocialVerifierBench: Sendable {
    let network: SocialNetwork
    let clock: MovableClock
    let verifiers: SocialVerifiers

    init(
        _ registration: SocialNetwork.Registration = .init(),
        change: (inout NativeSocialSettings) -> Void = { _ in }
    ) throws {
        let clock = MovableClock()
        let network = SocialNetwork(registration, clock: clock.clock)
        var settings = NativeSocialSettings(network)
        change(&settings)
        self.clock = clock
        self.network = network
        self.verifiers = try SocialVerifiers(settings, transport: SocialWire(network), clock: clock.clock)
    }

    func verify(_ kind: SocialSubjectToken, _ signIn: SocialSignIn) async -> SocialOutcome {
        await self.verifiers[kind]?.outcome(of: signIn) ?? .refused(.providerUnavailable, detail: "not configured")
    }

    func verify(_ kind: SocialSubjectToken, _ artefact: Secret, _ profile: JSONValue? = nil) async throws
        -> SocialOutcome
    {
        await self.verify(
            kind,
            SocialSignIn(artefact: artefact, profile: try profile.map { try SocialProfile($0) })
        )
    }
}

extension NativeSocialSettings {
    /// The settings that fit what is registered at the doubles.
    init(_ network: SocialNetwork) {
        let registration = network.registration
        self.init(
            google: GoogleSettings(audiences: [registration.googleAudience]),
            apple: AppleSettings(
                bundleIDs: registration.bundleIDs,
                teamID: registration.teamID,
                keyID: registration.keyID,
                privateKey: registration.applePEM
            ),
            facebook: FacebookSettings(
                appID: registration.facebookAppID,
                appSecret: Secret(registration.facebookSecret)
            )
        )
        self.google?.keysURL = network.url(.googleKeys)
        self.apple?.tokenURL = network.url(.appleToken)
        self.apple?.keysURL = network.url(.appleKeys)
        self.facebook?.debugURL = network.url(.facebookDebug)
    }
}

/// Brings calls to the doubles without a network.
private struct SocialWire: CallTransport {
    private let network: SocialNetwork

    init(_ network: SocialNetwork) {
        self.network = network
    }

    func send(_ call: OutgoingCall) async throws(CallError) -> CallAnswer {
        let request = SocialRequest(call.method, call.url, base: self.network.base, body: call.body)
        guard let answer = self.network.answer(to: request) else {
            throw CallError(isUnsent: false, detail: "no answer in time", cause: .time)
        }
        return CallAnswer(status: answer.status, fields: [("content-type", "application/json")], body: answer.body)
    }
}

/// What became of an artefact.
typealias SocialOutcome = Result<SocialProof, NotDone>

extension SocialOutcome {
    var user: Authentication? { self.value?.user.authentication }
    var evidence: ProviderEvidence? { self.value?.user.evidence }
    var artefact: SocialArtefact? { self.value?.artefact }

    /// Why the artefact is refused; nil for anything else.
    var refusal: String? { self.cause == .socialRefused ? self.detail : nil }
}

extension SocialVerifier {
    func outcome(of signIn: SocialSignIn) async -> SocialOutcome { await Result(try await self.verify(signIn)) }
}
