import Calls
import Providers
package import Settings
import Vocabulary

/// Checks whether Kratos answers, and whether it redirects browsers back to the gateway's hosts.
extension ProviderCheck {
    /// Requests Kratos's readiness, a session that does not exist, and a login with each host as `return_to`.
    package func check(_ settings: KratosSettings) async -> [Verdict] {
        let url = settings.publicURL.description
        var verdicts = [await self.readiness(at: url, "kratos public API")]
        guard verdicts[0].level == .ok else { return verdicts }
        verdicts.append(await self.whoami(at: url))
        for origin in self.origins { verdicts.append(await self.returnTo(origin, at: url)) }
        if let admin = settings.adminURL {
            verdicts.append(await self.readiness(at: admin.description, "kratos admin API"))
        }
        return verdicts
    }

    private func call(_ url: String) -> OutgoingCall {
        OutgoingCall("GET", url, for: .health, fields: [("accept", "application/json")])
    }

    private func readiness(at url: String, _ subject: String) async -> Verdict {
        await .of { () async throws(Verdict) in
            let answer = try await self.ask(self.call("\(url)/health/ready"), subject)
            guard answer.status == 200 else {
                return .error(subject, "\(url)/health/ready \(ProviderWords.status(answer))")
            }
            return .ok(subject, "\(url) is ready")
        }
    }

    /// Requests the session without a credential. Kratos must answer with 401 and an error document.
    private func whoami(at url: String) async -> Verdict {
        let subject = "kratos sessions"
        return await .of { () async throws(Verdict) in
            let answer = try await self.ask(self.call("\(url)/sessions/whoami"), subject)
            guard answer.status == 401, self.error(in: answer) != nil else {
                let words = ProviderWords.status(answer)
                return .error(subject, "\(url)/sessions/whoami \(words): is this the public API of Kratos?")
            }
            return .ok(subject, "\(url)/sessions/whoami refuses a request without a session, as it should")
        }
    }

    /// Begins a login with `return_to`. Kratos must allow this URL.
    private func returnTo(_ origin: String, at url: String) async -> Verdict {
        let subject = "kratos return_to"
        let query = FormText.encoded([("return_to", "\(origin)/")])
        return await .of { () async throws(Verdict) in
            let answer = try await self.ask(self.call("\(url)/self-service/login/browser?\(query)"), subject)
            if answer.status == 200 { return .ok(subject, "it sends browsers back to \(origin)") }
            if self.error(in: answer)?["id"] == "self_service_flow_return_to_forbidden" {
                let fix = "add \(origin)/ to selfservice.allowed_return_urls"
                return .error(subject, "it does not send browsers back to \(origin): \(fix)")
            }
            return .warning(subject, "a login that leads back to \(origin) \(ProviderWords.status(answer))")
        }
    }

    private func error(in answer: CallAnswer) -> JSONValue? {
        JSONText.decode(answer.body)?["error"]
    }
}
