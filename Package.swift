// swift-tools-version:6.1
import PackageDescription

// With SALLYPORT_PLAIN=1 in the environment no target has unsafe flags: the compiler and linker work as they do by default,
// and warnings remain warnings. A release of Swift that changes a flag then stops nobody who wants to build the gateway.
let isPlain = Context.environment["SALLYPORT_PLAIN"] == "1"

// Every module is internal to the gateway: `package` access, Swift 6 mode, no warning survives.
let strict: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
    ] + (isPlain ? [] : [.unsafeFlags(["-warnings-as-errors"])])

// Modules that no request in a hurry runs are compiled for size.
let forSize: Set = ["Providers", "Calls", "Pages", "Rules", "Endpoints", "SignOn", "RedisStore"]
let compact = isPlain ? strict : strict + [.unsafeFlags(["-Osize"], .when(configuration: .release))]

// Code that only starts the gateway or tests it is compiled without optimisation, which took longer for the tests than for
// the gateway. Settings and Operating are optimised by LLVM alone, because Swift's own optimiser took half of the time for
// Settings. Every request uses values of Settings, and without optimisation Operating would make the program too large.
let quick = isPlain ? strict : strict + [.unsafeFlags(["-Onone"], .when(configuration: .release))]
let sizeWithoutSIL = ["-Osize", "-Xfrontend", "-disable-sil-perf-optzns"]
let lean = isPlain ? strict : strict + [.unsafeFlags(sizeWithoutSIL, .when(configuration: .release))]

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
let staticRuntime: [LinkerSetting] =
    isPlain
    ? []
    : [
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

// The modules of the gateway, from the life of a request down to what it is made of.
let modules: KeyValuePairs<String, [Target.Dependency]> = [
    // What operators do: check, explain, ask running gateways, print configurations of proxies, keep keys, try the demo.
    "Operating": [
        "RequestPath", "Endpoints", "SignOn", "Pages", "Providers", "Calls", "JOSE", "Sessions", "RedisStore",
        "Settings",
        "Rules", "Observability", "AddressIntelligence", "Transport", "Cryptography", "Vocabulary", "CLinux", nioCore,
        nioSSL, .product(name: "ArgumentParser", package: "swift-argument-parser"),
    ],
    // The life of a request, in the order of its folders.
    "RequestPath": [
        "Endpoints", "SignOn", "Pages", "JOSE", "Sessions", "Settings", "Observability", "AddressIntelligence",
        "Transport", "Cryptography", "Vocabulary", "CNGHTTP2", nioCore, nioTLS, nioSSL,
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
    ],
    // Event loops and sockets.
    "Transport": [
        "AddressIntelligence", "Vocabulary", "CLinux", nioCore,
        .product(name: "HeapModule", package: "swift-collections"),
    ],
    // The gateway's own endpoints, above the seam by which the request path calls them.
    "Endpoints": [
        "SignOn", "Pages", "Providers", "Calls", "JOSE", "Sessions", "Settings", "Observability", "AddressIntelligence",
        "Cryptography", "Vocabulary", nioCore,
    ],
    // How users and their apps are signed in: sign-in, handoff, the OAuth clients, their tokens and id_tokens.
    "SignOn": [
        "Providers", "Calls", "JOSE", "Sessions", "Settings", "Rules", "Observability", "AddressIntelligence",
        "Cryptography", "Vocabulary", nioCore, .product(name: "DequeModule", package: "swift-collections"),
    ],
    "Providers": [
        "Calls", "JOSE", "Sessions", "Settings", "AddressIntelligence", "Cryptography", "Vocabulary", nioCore,
    ],
    // Calls to others over HTTP: providers, and whoever else the gateway asks or tells.
    "Calls": [
        "Sessions", "Settings", "Observability", "AddressIntelligence", "Transport", "Cryptography", "Vocabulary",
        nioCore, nioTLS, nioHTTP1, nioSSL, .product(name: "DequeModule", package: "swift-collections"),
    ],
    "Sessions": [
        "AddressIntelligence", "Cryptography", "Vocabulary", nioCore,
        .product(name: "HeapModule", package: "swift-collections"),
    ],
    "Settings": ["Pages", "Rules", "AddressIntelligence", "Vocabulary", "CLinux", "CYAML", nioCore],
    // The pages for people: frame, stylesheet, and the texts in each language.
    "Pages": ["Cryptography", "Vocabulary"],
    // The operator's rules: their language, and what they say of an event.
    "Rules": ["AddressIntelligence", "Vocabulary"],
    "Observability": ["Vocabulary", "CLinux", nioCore, logging],
    "AddressIntelligence": ["Vocabulary", "CMaxMindDB"],
    // Signed tokens and key sets (RFC 7515, 7517, 7519), and proofs of a key (RFC 9449).
    "JOSE": ["Sessions", "Cryptography", "Vocabulary", nioCore],
    "Cryptography": ["Vocabulary", "COpenSSL", "CCrypt", "CArgon2"],
    "Vocabulary": [],
    // Sessions in Redis: hiredis as the codec, NIO as the transport.
    "RedisStore": ["Sessions", "Transport", "Cryptography", "Vocabulary", "CHiredis", nioCore, nioSSL],
]

// What tests share, in `Tests/TestSupport`. `TestSupport` and `GatewayBench` see no module of ours, so that tests of the built
// binary do not either: seeded numbers, files and corpora; the gateway's process with its clients and apps.
let rigs: KeyValuePairs<String, [Target.Dependency]> = [
    "TestSupport": ["CLinux"],
    "GatewayBench": ["TestSupport"],
    // A clock and a store that do what a test says.
    "StoreBench": ["Sessions", "Vocabulary", nioCore],
    // The handoff beside a model of it, over any store.
    "HandoffProof": [
        "SignOn", "Sessions", "Settings", "AddressIntelligence", "Vocabulary", "TestSupport", "StoreBench", nioCore,
    ],
    // What the tests of endpoints and sign-in share: credentials as the request path reads them, and the audit records.
    "EndpointBench": [
        "RequestPath", "Endpoints", "SignOn", "Pages", "Providers", "Sessions", "Settings", "AddressIntelligence",
        "Vocabulary", nioCore,
    ],
    // An OpenID provider that does what a test says.
    "OpenIDBench": ["JOSE", "Cryptography", "Vocabulary", "GatewayBench"],
    // A double of Kratos, which cannot be installed on every machine.
    "KratosBench": ["Cryptography", "Vocabulary", "GatewayBench"],
    // Google, Apple and Facebook, as far as native apps are signed in by them.
    "SocialBench": ["JOSE", "Cryptography", "Vocabulary", "GatewayBench"],
    // A client that proves its key with each request.
    "ProofBench": ["JOSE", "Vocabulary", "GatewayBench"],
    // Real servers of every kind of deployment, and faults between them and their clients.
    "RedisServers": ["Transport", "TestSupport", "GatewayBench", nioCore, nioPosix],
    // What every session store must do; the test target of each store runs it.
    "StoreConformance": ["Sessions", "AddressIntelligence", "Vocabulary", "StoreBench", nioCore],
    // Bytes on the wire, both ways: tables, corpora of others, a differential oracle and what the fuzzers run.
    "FuzzTargets": [
        "RequestPath", "Endpoints", "SignOn", "Providers", "Calls", "JOSE", "Sessions", "RedisStore", "Settings",
        "Rules",
        "Observability", "AddressIntelligence", "Transport", "Cryptography", "Vocabulary", "TestSupport", nioCore,
        nioEmbedded,
    ],
]

let tests: KeyValuePairs<String, [Target.Dependency]> = [
    "TransportTests": ["AddressIntelligence", "Transport", "Vocabulary", "TestSupport", nioCore],
    "AddressIntelligenceTests": ["AddressIntelligence", "Vocabulary", "TestSupport"],
    "ObservabilityTests": ["Observability", "Vocabulary", "TestSupport", nioCore, nioPosix, logging],
    "PagesTests": ["Endpoints", "Pages"],
    "RulesTests": ["Rules", "AddressIntelligence", "Vocabulary", "TestSupport"],
    "VocabularyTests": ["Vocabulary"],
    "ClientsTests": [
        "SignOn", "JOSE", "Sessions", "Settings", "Cryptography", "Vocabulary", "StoreBench", nioCore, nioPosix,
    ],
    "JOSETests": ["JOSE", "Cryptography", "Vocabulary", "TestSupport", "StoreBench"],
    "DPoPTests": ["JOSE", "Sessions", "Cryptography", "Vocabulary", "TestSupport", "StoreBench", nioCore, nioPosix],
    "IDTokensTests": [
        "SignOn", "JOSE", "Sessions", "Cryptography", "Vocabulary", "TestSupport", "GatewayBench", "StoreBench",
        nioCore, nioPosix,
    ],
    "CryptographyTests": ["Cryptography", "Vocabulary", "TestSupport"],
    "RequestPathTests": [
        "RequestPath", "Endpoints", "SignOn", "Pages", "JOSE", "Sessions", "Settings", "Observability",
        "AddressIntelligence", "Transport", "Cryptography", "Vocabulary", "CNGHTTP2", "TestSupport", "StoreBench",
        nioCore, nioPosix, nioEmbedded,
    ],
    "HandoffTests": [
        "SignOn", "Sessions", "Settings", "Rules", "Observability", "AddressIntelligence", "Cryptography",
        "Vocabulary", "TestSupport", "StoreBench", "HandoffProof", nioCore, nioPosix,
    ],
    "TokenEndpointsTests": [
        "Endpoints", "SignOn", "Providers", "JOSE", "Sessions", "Settings", "Rules", "Observability",
        "AddressIntelligence", "Cryptography", "Vocabulary", "TestSupport", "StoreBench", "EndpointBench", nioCore,
        nioPosix,
    ],
    "OpenIDBenchTests": ["JOSE", "Cryptography", "Vocabulary", "GatewayBench", "StoreBench", "OpenIDBench"],
    "SessionsTests": [
        "Sessions", "AddressIntelligence", "Cryptography", "Vocabulary", "TestSupport", "StoreBench",
        "StoreConformance", nioCore, nioPosix, nioEmbedded,
    ],
    "RedisStoreTests": [
        "SignOn", "Providers", "JOSE", "Sessions", "RedisStore", "Settings", "AddressIntelligence", "Cryptography",
        "Vocabulary", "TestSupport", "StoreBench", "HandoffProof", "RedisServers", "StoreConformance", nioCore,
        nioPosix,
        nioEmbedded,
    ],
    "EndpointsTests": ["Endpoints", "Pages", "Cryptography", "Vocabulary", "TestSupport", "EndpointBench"],
    "SettingsTests": ["Pages", "Settings", "Rules", "AddressIntelligence", "Vocabulary"],
    "ProvidersTests": [
        "Providers", "Calls", "JOSE", "Sessions", "Settings", "AddressIntelligence", "Transport", "Cryptography",
        "Vocabulary", "TestSupport", "StoreBench", "SocialBench", "RedisServers", nioCore, nioPosix, nioSSL,
    ],
    "SessionEndpointsTests": [
        "RequestPath", "Endpoints", "SignOn", "Pages", "Providers", "JOSE", "Sessions", "Settings", "Rules",
        "Observability", "AddressIntelligence", "Transport", "Cryptography", "Vocabulary", "TestSupport",
        "StoreBench", "EndpointBench", nioCore, nioPosix,
    ],
    "SignInTests": [
        "SignOn", "Providers", "Calls", "JOSE", "Sessions", "Settings", "Observability", "AddressIntelligence",
        "Cryptography", "Vocabulary", "TestSupport", "StoreBench", "EndpointBench", nioCore, nioPosix,
    ],
    "WireTests": [
        "RequestPath", "Transport", "Vocabulary", "TestSupport", "GatewayBench", "FuzzTargets", nioCore,
        nioEmbedded, nioHTTP1,
    ],
    // Tests of the built binary and of the files around it: of our modules they see those that name what it says.
    "DemoTests": ["Cryptography", "Vocabulary", "TestSupport", "GatewayBench"],
    "IntegrationTests": [
        "Observability", "Cryptography", "Vocabulary", "TestSupport", "GatewayBench", "OpenIDBench", "KratosBench",
        "SocialBench", "ProofBench",
    ],
    "RedisIntegrationTests": [
        "Vocabulary", "TestSupport", "GatewayBench", "OpenIDBench", "KratosBench", "ProofBench", "RedisServers",
        nioCore,
    ],
    "ProxyTests": ["TestSupport", "GatewayBench"],
    "EdgeTests": ["Cryptography", "TestSupport", "GatewayBench"],
    "PackagingTests": ["RedisStore", "Vocabulary", "TestSupport"],
]

// System libraries, with the names that pkg-config and Debian know them by. hiredis.pc names a flag that SwiftPM warns of, and
// nothing that is needed.
let libraries: [(name: String, package: String?, debian: String?)] = [
    ("CLinux", nil, nil), ("CHiredis", nil, "libhiredis-dev"), ("CYAML", "yaml-0.1", "libyaml-dev"),
    ("CNGHTTP2", "libnghttp2", "libnghttp2-dev"),
    ("COpenSSL", "libcrypto", "libssl-dev"), ("CCrypt", "libcrypt", "libcrypt-dev"),
    ("CArgon2", "libargon2", "libargon2-dev"), ("CMaxMindDB", "libmaxminddb", "libmaxminddb-dev"),
]

// What lies in folders of tests besides their sources.
let otherFiles = [
    "EdgeTests": ["TLS/tls_attacks.py"],
    "IntegrationTests": [
        "RealProviders/authlib-provider.py", "RealProviders/glewlwyd-provider.py", "RealProviders/idpyoidc-provider.py",
        "RealApps/Programs", "Traces/trace-collector.py", "Traces/traced-peers.py",
    ],
]

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
        // The program: its command line, and the gateway put together, started, reloaded and stopped.
        .executableTarget(
            name: "sallyport",
            dependencies: [
                "Operating", "RequestPath", "Endpoints", "SignOn", "Providers", "Calls", "JOSE", "Sessions",
                "RedisStore",
                "Settings", "Rules", "Observability", "AddressIntelligence", "Transport", "Cryptography", "Vocabulary",
                nioCore, logging,
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ] + indirect,
            swiftSettings: quick,
            linkerSettings: staticRuntime
        )
    ]
        + modules.map { name, uses in
            .target(
                name: name,
                dependencies: uses,
                swiftSettings: ["Settings", "Operating"].contains(name)
                    ? lean : forSize.contains(name) ? compact : strict
            )
        }
        + rigs.map { name, uses in
            .target(name: name, dependencies: uses, path: "Tests/TestSupport/\(name)", swiftSettings: strict)
        }
        + tests.map { name, uses in
            .testTarget(name: name, dependencies: uses, exclude: otherFiles[name] ?? [], swiftSettings: quick)
        }
        + libraries.map { name, package, debian in
            .systemLibrary(
                name: name,
                path: "Sources/SystemLibraries/\(name)",
                pkgConfig: package,
                providers: debian.map { [.apt([$0])] }
            )
        }
)

// With FUZZ=1 in the environment there are libFuzzer's programs as well, and every module of ours counts its edges for
// them: `FUZZ=1 swift build -c release --scratch-path .build/fuzz --product FuzzRequestHead`.
if Context.environment["FUZZ"] == "1" {
    for target in package.targets where target.type == .regular {
        target.swiftSettings?.append(.unsafeFlags(["-sanitize=fuzzer"]))
    }
    for name in [
        "RequestHead", "ProxyPreamble", "Check", "HTTP2Head", "HTTP2Frames", "ResponseHead", "ChunkedBody", "Cookie",
        "YAML", "RedisReply", "JOSE", "Claims", "ProviderDocuments", "Kratos", "ClientMetadata", "SCIM", "RuleEvents",
        "Records", "Traces",
    ] {
        package.targets.append(
            .executableTarget(
                name: "Fuzz\(name)",
                dependencies: ["FuzzTargets"],
                path: "Tests/Fuzz/\(name)",
                exclude: ["corpus"],
                swiftSettings: strict + [.unsafeFlags(["-parse-as-library", "-sanitize=fuzzer"])],
                linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-Xlinker", "--export-dynamic"])]
            )
        )
    }
}
