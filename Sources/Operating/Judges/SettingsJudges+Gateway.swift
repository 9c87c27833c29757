import Endpoints
import JOSE
import RedisStore
import RequestPath
package import Settings
import Vocabulary

extension SettingsJudges {
    /// The checks of settings by the modules that use them.
    package static var gateway: SettingsJudges {
        var judges = SettingsJudges()
        judges.redisURL = { Self.fault(inURL: $0) }
        judges.privateKey = { Self.fault(in: $0) }
        judges.p256Key = { Self.fault(in: $0, for: .es256) }
        judges.clientKeys = ClientAssertions.fault(inKeys:)
        judges.certificate = { chain, key throws(CertificateFault) in
            try CertificateJudge.facts(chain, key, now: Clock.system.now())
        }
        judges.authorities = { CertificateJudge.fault(inAuthorities: $0, now: Clock.system.now()) }
        judges.routeField = { change, identity in change.fault(beside: identity) }
        return judges
    }

    private static func fault(in pem: Secret, for algorithm: JWSAlgorithm? = nil) -> String? {
        do throws(JOSEError) {
            _ = try SigningKey(pem: pem, algorithm: algorithm)
            return nil
        } catch {
            return error.detail
        }
    }

    /// Returns the fault of a Redis URL, without quoting the URL; `nil` if it is valid.
    private static func fault(inURL url: Secret) -> String? {
        do throws(RedisURLError) {
            _ = try RedisConfiguration(url: url)
            return nil
        } catch {
            return error.description
        }
    }
}
