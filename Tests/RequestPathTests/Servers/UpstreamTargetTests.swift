import RequestPath
import Settings
import TestSupport
import Testing

/// Which apps a reload leaves as they are, with their connections.
@Suite("An app across reloads") struct UpstreamTargetTests {
    private static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBdDCCARugAwIBAgIUc/unnAyF7xr2UGceMPdzhzi+yLYwCgYIKoZIzj0EAwIw
        DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjYxMTE5MjlaGA8yMTI2MTEwMjExMTky
        OVowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABKZU
        Jlh+ht848lTSfpcao+pSYM60A7qaejDL2xEzBfNVZozhNPRBM0PkN4bFWSgitqqM
        R7FOwY5t3YkyoMfBQGOjUzBRMB0GA1UdDgQWBBQDJpUNCV3C9HcNj+7qwhsWMqPu
        NjAfBgNVHSMEGDAWgBQDJpUNCV3C9HcNj+7qwhsWMqPuNjAPBgNVHRMBAf8EBTAD
        AQH/MAoGCCqGSM49BAMCA0cAMEQCICf1zyQ5sTP0cotQLfULahxDQy/JysONg5s5
        oFLEocvlAiB39RSB1tKQSzL8mja3HtiD0JMN9jJuVnP8lCbzlR3eug==
        -----END CERTIFICATE-----
        """

    private static func settings(_ change: (inout UpstreamSettings) -> Void = { _ in }) -> UpstreamSettings {
        var settings = UpstreamSettings(name: "app", isHTTPS: false, host: "127.0.0.1", port: 9)
        change(&settings)
        return settings
    }

    @Test func equalSettingsAreTheSameApp() throws {
        let target = try UpstreamTarget.make(Self.settings(), keeping: [])
        let other = try UpstreamTarget.make(Self.settings { $0.name = "other" }, keeping: [target])
        #expect(other !== target)
        #expect(try UpstreamTarget.make(Self.settings(), keeping: [other, target]) === target)
        for change: (inout UpstreamSettings) -> Void in [
            { $0.port = 10 }, { $0.maxConnections = 1 }, { $0.maxQueue = 1 }, { $0.reuse = .strict },
            { $0.host = "::1" },
            { $0.isHTTPS = true },
        ] {
            #expect(try UpstreamTarget.make(Self.settings(change), keeping: [target]) !== target)
        }
    }

    /// The files of TLS are read at a reload, so other content makes another app.
    @Test func aRenewedFileIsAnotherApp() throws {
        let file = try TemporaryFile(Self.certificate)
        defer { file.remove() }
        let settings = Self.settings {
            $0.isHTTPS = true
            $0.caFile = file.path
        }
        let target = try UpstreamTarget.make(settings, keeping: [])
        #expect(try UpstreamTarget.make(settings, keeping: [target]) === target)
        try file.replace(with: Array((Self.certificate + "\n").utf8))
        #expect(try UpstreamTarget.make(settings, keeping: [target]) !== target)
    }

    @Test func aLookAtTheFilesTakesRenewedOnesIntoUse() throws {
        let file = try TemporaryFile(Self.certificate)
        defer { file.remove() }
        let settings = Self.settings {
            $0.isHTTPS = true
            $0.caFile = file.path
        }
        let target = try UpstreamTarget.make(settings, keeping: [])
        let first = try #require(target.tls)
        #expect(try target.renewTLS() == false)
        #expect(target.tls === first)
        // The same content in a new file.
        try file.replace(with: Array(Self.certificate.utf8))
        #expect(try target.renewTLS() == false)
        #expect(target.tls === first)
        try file.replace(with: Array((Self.certificate + "\n").utf8))
        #expect(try target.renewTLS() == true)
        let second = try #require(target.tls)
        #expect(second !== first)
        // A reload finds what is in use already.
        #expect(try UpstreamTarget.make(settings, keeping: [target]) === target)
        try file.replace(with: Array("nonsense, and longer".utf8))
        for _ in 0..<2 { #expect(throws: UpstreamTLSError.self) { try target.renewTLS() } }
        #expect(target.tls === second)
        try file.replace(with: Array((Self.certificate + "\n\n").utf8))
        #expect(try target.renewTLS() == true)
    }

    @Test func anAppWithoutTLSHasNoFiles() throws {
        let target = try UpstreamTarget.make(Self.settings(), keeping: [])
        #expect(try target.renewTLS() == false)
        #expect(target.tls == nil)
    }
}
