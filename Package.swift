// swift-tools-version:6.1
import PackageDescription

// Every module is internal to the gateway: `package` access, Swift 6 mode, no warning survives.
let tested: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .unsafeFlags(["-warnings-as-errors"]),
]

// The modules of the executable search texts byte for byte (`TextSearch`): the standard library's functions of the same
// names are hidden from them.
let strict =
    tested + [.unsafeFlags(["-Xfrontend", "-disable-implicit-string-processing-module-import"])]

// Modules that no request in a hurry runs are compiled for size.
let compact = strict + [.unsafeFlags(["-Osize"], .when(configuration: .release))]

let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioTLS: Target.Dependency = .product(name: "NIOTLS", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")

// The executable carries the Swift runtime and FoundationEssentials, so the container image needs neither.
// (`--static-swift-stdlib` would do the same for the whole build, but then Swift Testing is not found and tests would need
// a build of their own.) Nothing imports Foundation itself, whose data for all languages has 40 MB.
let staticRuntime: [LinkerSetting] = [
    .unsafeFlags(
        ["-static-stdlib", "-Xlinker", "--start-group"]
            + ["FoundationEssentials", "_FoundationCShims", "_FoundationCollections", "swiftSynchronization"]
            .map { "-l\($0)" }
            + ["-Xlinker", "--end-group", "-lstdc++"]
            // Relocations are packed (glibc 2.36, Debian 12), and functions with the same code are one.
            + ["-use-ld=lld"] + ["-z", "pack-relative-relocs", "--icf=all"].flatMap { ["-Xlinker", $0] }
    ),
    // Nothing is loaded into the gateway, so no function of it needs to be found by name, except a sanitizer's by libc.
    .unsafeFlags(["-Xlinker", "--no-export-dynamic"], .when(configuration: .release)),
]

// SwiftPM warns of a package that no target uses, so the packages that are named for their version alone are used on a
// platform that does not exist: what is built and linked stays the same.
let indirect: [Target.Dependency] = [
    ("AsyncAlgorithms", "swift-async-algorithms"), ("Atomics", "swift-atomics"), ("SystemPackage", "swift-system"),
].map { .product(name: $0, package: $1, condition: .when(platforms: [.custom("none")])) }

let package = Package(
    name: "sallyport",
    products: [.executable(name: "sallyport", targets: ["sallyport"])],
    // Every package has one exact version, so that images repeat and a new version comes with a commit. Package.resolved
    // would pin the commit of each as well, and these differ between copies of a package.
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        // What the packages above depend on.
        .package(url: "https://github.com/apple/swift-async-algorithms", exact: "1.1.4"),
        .package(url: "https://github.com/apple/swift-atomics", exact: "1.3.0"),
        .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
    ],
    targets: [
        // The command line: run, demo, check, explain, healthcheck; the only module that sees all others.
        .executableTarget(
            name: "sallyport",
            dependencies: [
                "RequestPath", "Endpoints", "SessionEndpoints", "TokenEndpoints", "SignIn", "OAuth", "Handoff",
                "Clients", "Pages",
                "IDTokens", "Providers", "DPoP", "JOSE", "Sessions", "RedisStore", "Settings", "Rules",
                "Observability", "AddressIntelligence", "Transport", "Cryptography", "Vocabulary",
                nioCore, nioPosix, nioHTTP1, nioSSL, logging, "CLinux",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ] + indirect,
            swiftSettings: compact,
            linkerSettings: staticRuntime
        ),

        // The life of a request, in the order of its folders.
        .target(
            name: "RequestPath",
            dependencies: [
                "Endpoints", "Pages", "Handoff", "DPoP", "Clients", "Sessions", "Settings", "Observability",
                "AddressIntelligence", "JOSE", "Transport", "Cryptography", "Vocabulary", nioCore, nioSSL,
            ],
            swiftSettings: strict
        ),
        // Event loops and sockets.
        .target(
            name: "Transport",
            dependencies: [
                "CLinux", "AddressIntelligence", "Vocabulary", nioCore,
                .product(name: "HeapModule", package: "swift-collections"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Endpoints",
            dependencies: ["Pages", "AddressIntelligence", "Vocabulary"],
            swiftSettings: strict
        ),
        .target(
            name: "TokenEndpoints",
            dependencies: [
                "Endpoints", "Pages", "OAuth", "IDTokens", "SignIn", "Providers", "Handoff", "DPoP", "Clients",
                "Sessions",
                "Settings", "JOSE",
                "AddressIntelligence", "Cryptography", "Vocabulary", nioCore,
            ],
            swiftSettings: compact
        ),
        .target(
            name: "SessionEndpoints",
            dependencies: [
                "Endpoints", "Pages", "Observability", "SignIn", "Handoff", "Providers", "Clients", "IDTokens",
                "Sessions",
                "Settings", "JOSE",
                "Cryptography", "AddressIntelligence", "Vocabulary", nioCore,
            ],
            swiftSettings: compact
        ),
        // Begins, replaces and ends sessions, for every way to sign in.
        .target(
            name: "SignIn",
            dependencies: [
                "Rules", "Providers", "Sessions", "Settings", "Observability", "Cryptography", "AddressIntelligence",
                "Vocabulary", nioCore,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Providers",
            dependencies: [
                "DPoP", "JOSE", "Sessions", "Settings", "AddressIntelligence", "Transport", "Cryptography",
                "Vocabulary",
                nioCore, nioHTTP1, nioSSL, nioTLS,
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: compact
        ),
        // The authorization server's tokens, below its endpoints.
        .target(
            name: "OAuth",
            dependencies: [
                "Rules", "Sessions", "Settings", "Observability", "Cryptography", "AddressIntelligence", "Vocabulary",
                nioCore,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Handoff",
            dependencies: [
                "Rules", "Sessions", "Settings", "Observability", "Cryptography", "AddressIntelligence", "Vocabulary",
                nioCore,
            ],
            swiftSettings: strict
        ),
        // The id_tokens that the gateway issues: their keys and their claims.
        .target(
            name: "IDTokens",
            dependencies: ["JOSE", "Sessions", "Cryptography", "Vocabulary", nioCore],
            swiftSettings: strict
        ),
        // The registered OAuth clients.
        .target(
            name: "Clients",
            dependencies: ["Sessions", "Settings", "JOSE", "Cryptography", "Vocabulary", nioCore],
            swiftSettings: compact
        ),
        .target(
            name: "Sessions",
            dependencies: [
                "Cryptography", "AddressIntelligence", "Vocabulary", nioCore,
                .product(name: "HeapModule", package: "swift-collections"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Settings",
            dependencies: [
                "CYAML", "CLinux", "Pages", "Rules", "AddressIntelligence", "Vocabulary", nioCore,
            ],
            swiftSettings: compact
        ),
        // The pages for people: frame, stylesheet, and the texts in each language.
        .target(name: "Pages", dependencies: ["Cryptography", "Vocabulary"], swiftSettings: compact),
        // The operator's rules: their language, and what they say of an event.
        .target(name: "Rules", dependencies: ["AddressIntelligence", "Vocabulary"], swiftSettings: compact),
        .target(
            name: "Observability",
            dependencies: ["CLinux", "Vocabulary", nioCore, logging],
            swiftSettings: strict
        ),
        .target(
            name: "AddressIntelligence",
            dependencies: ["CMaxMindDB", "Vocabulary"],
            swiftSettings: strict
        ),
        // Proofs that the sender of a token has its key (RFC 9449).
        .target(
            name: "DPoP",
            dependencies: ["JOSE", "Sessions", "Cryptography", "Vocabulary", nioCore],
            swiftSettings: strict
        ),
        // Signed tokens and key sets (RFC 7515, 7517, 7519).
        .target(name: "JOSE", dependencies: ["Cryptography", "Vocabulary"], swiftSettings: strict),
        .target(
            name: "Cryptography",
            dependencies: ["COpenSSL", "CCrypt", "CArgon2", "Vocabulary"],
            swiftSettings: strict
        ),
        .target(name: "Vocabulary", swiftSettings: strict),

        .testTarget(
            name: "TransportTests",
            dependencies: ["Transport", "AddressIntelligence", "Vocabulary", nioCore],
            swiftSettings: tested
        ),
        .testTarget(
            name: "AddressIntelligenceTests",
            dependencies: ["AddressIntelligence", "TestSupport", "Vocabulary"],
            swiftSettings: tested
        ),
        .testTarget(
            name: "ObservabilityTests",
            dependencies: ["Observability", "TestSupport", "Vocabulary", nioCore, nioPosix, logging],
            swiftSettings: tested
        ),
        .testTarget(
            name: "PagesTests",
            dependencies: ["Pages", "Endpoints"],
            swiftSettings: tested
        ),
        .testTarget(
            name: "RulesTests",
            dependencies: ["Rules", "AddressIntelligence", "TestSupport", "Vocabulary"],
            swiftSettings: tested
        ),
        .testTarget(name: "VocabularyTests", dependencies: ["Vocabulary"], swiftSettings: tested),
        .testTarget(
            name: "ClientsTests",
            dependencies: [
                "Clients", "JOSE", "Settings", "Sessions", "StoreBench", "Cryptography", "Vocabulary", nioCore,
                nioPosix,
            ],
            swiftSettings: tested
        ),
        .testTarget(
            name: "JOSETests",
            dependencies: ["JOSE", "Cryptography", "StoreBench", "TestSupport", "Vocabulary"],
            swiftSettings: tested
        ),
        .testTarget(
            name: "DPoPTests",
            dependencies: [
                "DPoP", "JOSE", "Cryptography", "Sessions", "StoreBench", "TestSupport", "Vocabulary", nioCore,
                nioPosix,
            ],
            swiftSettings: tested
        ),
        .testTarget(
            name: "IDTokensTests",
            dependencies: [
                "IDTokens", "JOSE", "Sessions", "Cryptography", "GatewayBench", "StoreBench", "TestSupport",
                "Vocabulary",
                nioCore, nioPosix,
            ],
            swiftSettings: tested
        ),
        .testTarget(
            name: "CryptographyTests",
            dependencies: ["Cryptography", "Vocabulary"],
            swiftSettings: tested
        ),

        .testTarget(
            name: "RequestPathTests",
            dependencies: [
                "RequestPath", "Sessions", "Settings", "AddressIntelligence", "TestSupport", "Vocabulary", "Endpoints",
                "Pages",
                "Handoff", "Clients", "Cryptography", "DPoP", "JOSE", "StoreBench", "Observability", "Transport",
                nioCore, nioPosix, nioEmbedded,
            ],
            swiftSettings: tested
        ),
        .testTarget(
            name: "HandoffTests",
            dependencies: [
                "Handoff", "Rules", "Sessions", "Settings", "Observability", "AddressIntelligence", "Cryptography",
                "StoreBench", "HandoffProof",
                "TestSupport", "Vocabulary", nioCore, nioPosix,
            ],
            swiftSettings: tested
        ),
        .testTarget(
            name: "TokenEndpointsTests",
            dependencies: [
                "TokenEndpoints", "Endpoints", "OAuth", "IDTokens", "DPoP", "JOSE", "Providers", "Rules", "SignIn",
                "Handoff", "Sessions", "Settings",
                "Observability", "AddressIntelligence", "StoreBench", "EndpointBench", "Cryptography", "Vocabulary",
                "Clients", nioCore,
                nioPosix,
            ],
            swiftSettings: tested
        ),

        // What tests share. `TestSupport` and `GatewayBench` see no module of ours, so that tests of the built binary do not
        // either: seeded numbers, files and corpora; the gateway's process with its clients and apps.
        .target(
            name: "TestSupport",
            dependencies: ["CLinux"],
            path: "Tests/TestSupport/Basics",
            swiftSettings: tested
        ),
        .target(
            name: "GatewayBench",
            dependencies: ["TestSupport"],
            path: "Tests/TestSupport/GatewayBench",
            swiftSettings: tested
        ),
        // A clock and a store that do what a test says.
        .target(
            name: "StoreBench",
            dependencies: ["Sessions", "Vocabulary", nioCore],
            path: "Tests/TestSupport/StoreBench",
            swiftSettings: tested
        ),
        // The handoff beside a model of it, over any store.
        .target(
            name: "HandoffProof",
            dependencies: [
                "Handoff", "Sessions", "Settings", "AddressIntelligence", "StoreBench", "TestSupport", "Vocabulary",
                nioCore,
            ],
            path: "Tests/HandoffProof",
            swiftSettings: tested
        ),
        // What the tests of endpoints and sign-in share: credentials as the request path reads them, and the audit records.
        .target(
            name: "EndpointBench",
            dependencies: [
                "Endpoints", "Pages", "RequestPath", "Settings", "SignIn", "Providers", "Sessions",
                "AddressIntelligence", "Vocabulary",
            ],
            path: "Tests/TestSupport/EndpointBench",
            swiftSettings: tested
        ),
        // An OpenID provider that does what a test says.
        .target(
            name: "OpenIDBench",
            dependencies: ["GatewayBench", "JOSE", "Cryptography", "Vocabulary"],
            path: "Tests/TestSupport/OpenIDBench",
            swiftSettings: tested
        ),
        // A double of Kratos, which cannot be installed on every machine.
        .target(
            name: "KratosBench",
            dependencies: ["GatewayBench", "Cryptography", "Vocabulary"],
            path: "Tests/TestSupport/KratosBench",
            swiftSettings: tested
        ),
        // Google, Apple and Facebook, as far as native apps are signed in by them.
        .target(
            name: "SocialBench",
            dependencies: ["GatewayBench", "JOSE", "Cryptography", "Vocabulary"],
            path: "Tests/TestSupport/SocialBench",
            swiftSettings: tested
        ),
        // A client that proves its key with each request.
        .target(
            name: "ProofBench",
            dependencies: ["GatewayBench", "DPoP", "JOSE", "Vocabulary"],
            path: "Tests/TestSupport/ProofBench",
            swiftSettings: tested
        ),
        .testTarget(
            name: "OpenIDBenchTests",
            dependencies: ["OpenIDBench", "GatewayBench", "StoreBench", "JOSE", "Cryptography", "Vocabulary"],
            swiftSettings: tested
        ),
        // Real servers of every kind of deployment, and faults between them and their clients.
        .target(
            name: "RedisServers",
            dependencies: ["GatewayBench", "TestSupport", "Transport", nioCore, nioPosix],
            path: "Tests/TestSupport/RedisServers",
            swiftSettings: tested
        ),

        // What every session store must do; the test target of each store runs it.
        .target(
            name: "StoreConformance",
            dependencies: ["Sessions", "StoreBench", "AddressIntelligence", "Vocabulary", nioCore],
            path: "Tests/StoreConformance",
            swiftSettings: tested
        ),
        .testTarget(
            name: "SessionsTests",
            dependencies: [
                "Sessions", "StoreBench", "StoreConformance", "AddressIntelligence", "Cryptography", "Vocabulary",
                nioCore,
                nioPosix, nioEmbedded,
            ],
            swiftSettings: tested
        ),

        // Sessions in Redis: hiredis as the codec, NIO as the transport.
        .target(
            name: "RedisStore",
            dependencies: [
                "CHiredis", "Sessions", "Transport", "Cryptography", "Vocabulary", nioCore, nioSSL,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RedisStoreTests",
            dependencies: [
                "RedisStore", "RedisServers", "StoreBench", "StoreConformance", "HandoffProof", "Sessions",
                "Cryptography", "DPoP", "OAuth", "Settings", "AddressIntelligence", "IDTokens", "JOSE", "TestSupport",
                "Vocabulary",
                nioCore, nioPosix, nioEmbedded,
            ],
            swiftSettings: tested
        ),
        .systemLibrary(name: "CLinux", path: "Sources/SystemLibraries/CLinux"),
        // No pkgConfig: hiredis.pc names a flag that SwiftPM warns of, and nothing that is needed.
        .systemLibrary(
            name: "CHiredis",
            path: "Sources/SystemLibraries/CHiredis",
            providers: [.apt(["libhiredis-dev"])]
        ),
        .systemLibrary(
            name: "CYAML",
            path: "Sources/SystemLibraries/CYAML",
            pkgConfig: "yaml-0.1",
            providers: [.apt(["libyaml-dev"])]
        ),
        .systemLibrary(
            name: "COpenSSL",
            path: "Sources/SystemLibraries/COpenSSL",
            pkgConfig: "libcrypto",
            providers: [.apt(["libssl-dev"])]
        ),
        .systemLibrary(
            name: "CCrypt",
            path: "Sources/SystemLibraries/CCrypt",
            pkgConfig: "libcrypt",
            providers: [.apt(["libcrypt-dev"])]
        ),
        .systemLibrary(
            name: "CArgon2",
            path: "Sources/SystemLibraries/CArgon2",
            pkgConfig: "libargon2",
            providers: [.apt(["libargon2-dev"])]
        ),
        .systemLibrary(
            name: "CMaxMindDB",
            path: "Sources/SystemLibraries/CMaxMindDB",
            pkgConfig: "libmaxminddb",
            providers: [.apt(["libmaxminddb-dev"])]
        ),
        .testTarget(
            name: "EndpointsTests",
            dependencies: [
                "Endpoints", "EndpointBench", "Pages", "Cryptography", "TestSupport", "Vocabulary",
            ],
            swiftSettings: tested
        ),
        .testTarget(
            name: "SettingsTests",
            dependencies: ["Settings", "Pages", "Rules", "AddressIntelligence", "Vocabulary"],
            swiftSettings: tested
        ),
        .testTarget(
            name: "ProvidersTests",
            dependencies: [
                "Providers", "JOSE", "Sessions", "StoreBench", "RedisServers", "SocialBench", "Settings",
                "AddressIntelligence", "Transport", "Cryptography", "TestSupport", "Vocabulary", nioCore, nioPosix,
                nioSSL,
            ],
            swiftSettings: tested
        ),
        .testTarget(
            name: "SessionEndpointsTests",
            dependencies: [
                "SessionEndpoints", "Endpoints", "Pages", "EndpointBench", "SignIn", "Handoff", "Providers", "Clients",
                "IDTokens", "Rules",
                "Sessions", "Settings", "Observability", "JOSE", "Cryptography", "AddressIntelligence", "RequestPath",
                "StoreBench",
                "TestSupport", "Transport", "Vocabulary", nioCore, nioPosix,
            ],
            swiftSettings: tested
        ),
        .testTarget(
            name: "SignInTests",
            dependencies: [
                "SignIn", "Providers", "Sessions", "EndpointBench", "StoreBench", "Settings", "Observability",
                "AddressIntelligence", "Cryptography", "TestSupport", "Vocabulary", nioCore, nioPosix,
            ],
            swiftSettings: tested
        ),
        // Bytes on the wire, both ways: tables, corpora of others, a differential oracle and what the fuzzers run.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "RedisStore", "RequestPath", "OAuth", "Handoff", "SignIn", "Providers", "Clients", "IDTokens", "Rules",
                "Sessions", "Settings", "DPoP", "JOSE", "AddressIntelligence", "Cryptography", "TestSupport",
                "Vocabulary", nioCore,
            ],
            path: "Tests/Fuzz/Targets",
            swiftSettings: tested
        ),
        .testTarget(
            name: "WireTests",
            dependencies: [
                "FuzzTargets", "GatewayBench", "RequestPath", "TestSupport", "Transport", "Vocabulary", nioCore,
                nioEmbedded, nioHTTP1,
            ],
            swiftSettings: tested
        ),
        // Tests of the built binary and of the files around it: of our modules they see those that name what it says.
        .testTarget(
            name: "DemoTests",
            dependencies: ["GatewayBench", "Cryptography", "Vocabulary"],
            swiftSettings: tested
        ),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "GatewayBench", "OpenIDBench", "KratosBench", "SocialBench", "ProofBench", "TestSupport",
                "Cryptography",
                "Observability",
                "Vocabulary",
            ],
            exclude: ["RealProviders/glewlwyd-provider.py", "RealProviders/idpyoidc-provider.py"],
            swiftSettings: tested
        ),
        .testTarget(
            name: "RedisIntegrationTests",
            dependencies: [
                "GatewayBench", "OpenIDBench", "KratosBench", "ProofBench", "RedisServers", "TestSupport", "Vocabulary",
                nioCore,
            ],
            swiftSettings: tested
        ),
        .testTarget(
            name: "PackagingTests",
            dependencies: ["Vocabulary", "RedisStore", "TestSupport"],
            swiftSettings: tested
        ),
    ]
)

// With FUZZ=1 in the environment there are libFuzzer's programs as well, and every module of ours counts its edges for
// them: `FUZZ=1 swift build -c release --scratch-path .build/fuzz --product FuzzRequestHead`.
if Context.environment["FUZZ"] == "1" {
    for target in package.targets where target.type == .regular {
        target.swiftSettings?.append(.unsafeFlags(["-sanitize=fuzzer"]))
    }
    for name in [
        "RequestHead", "ResponseHead", "ChunkedBody", "Cookie", "YAML", "RedisReply", "JOSE", "Claims",
        "ProviderDocuments", "Kratos", "ClientMetadata", "RuleEvents", "Records",
    ] {
        package.targets.append(
            .executableTarget(
                name: "Fuzz\(name)",
                dependencies: ["FuzzTargets"],
                path: "Tests/Fuzz/\(name)",
                exclude: ["corpus"],
                swiftSettings: tested + [.unsafeFlags(["-parse-as-library", "-sanitize=fuzzer"])],
                linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-Xlinker", "--export-dynamic"])]
            )
        )
    }
}
