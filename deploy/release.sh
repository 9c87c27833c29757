#!/usr/bin/env bash
# The two steps of a release, for a tag vX.Y.Z of the version in Sources/sallyport/Version.swift. The workflow
# .github/workflows/release.yml runs them; so can anybody who has docker with buildx, signed in at the registry, and cosign:
#
#   deploy/release.sh build TAG IMAGE FOLDER    on a machine of each architecture: pushes its image by digest with the build's
#                                               provenance, and writes the digest, the bill of materials and an archive of the
#                                               binary to FOLDER
#   deploy/release.sh publish TAG IMAGE FOLDER  with those files of all architectures in FOLDER: joins the images under
#                                               IMAGE:X.Y.Z, signs them, and writes and signs the checksums of the archives
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The version of the sources, if TAG is its tag.
version_of() {
    local version
    version=$(sed -n 's/^    static let current = "\(.*\)"$/\1/p' "$root/Sources/sallyport/Version.swift")
    if [[ -z $version || $1 != "v$version" ]]; then
        echo "the tag $1 is not v$version, the version in Sources/sallyport/Version.swift: change one of them" >&2
        return 1
    fi
    echo "$version"
}

# The digest that an image's name has now.
digest_of() {
    docker buildx imagetools inspect "$1" --format '{{.Manifest.Digest}}'
}

# A default of deploy/Dockerfile with the digest of today, so that the bill of materials says what was built on.
pinned() {
    local image digest
    image=$(sed -n "s/^ARG $1=//p" "$root/deploy/Dockerfile")
    digest=$(digest_of "$image")
    echo "$image@$digest"
}

build() {
    local version=$1 image=$2 folder=$3 architecture name arguments base_build base_run digest
    architecture=$(docker version --format '{{.Server.Arch}}')
    name="sallyport-$version-linux-$architecture"
    SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct)
    export SOURCE_DATE_EPOCH
    # Provenance and a push by digest need a builder of their own.
    docker buildx create --use --driver docker-container >/dev/null
    base_build=$(pinned BUILD_IMAGE)
    base_run=$(pinned RUN_IMAGE)
    arguments=(--file "$root/deploy/Dockerfile" --build-arg "BUILD_IMAGE=$base_build" --build-arg "RUN_IMAGE=$base_run")

    docker buildx build "${arguments[@]}" --target sbom --output "type=local,dest=$folder/sbom" "$root"
    mv "$folder/sbom/sallyport.cdx.json" "$folder/$name.cdx.json"
    rmdir "$folder/sbom"

    docker buildx build "${arguments[@]}" --target binary --output "type=local,dest=$folder/$name" "$root"
    cp "$root/LICENSE" "$root/Config/sallyport.reference.yaml" "$root/deploy/systemd/sallyport.service" "$folder/$name"
    tar --create --directory "$folder" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" "$name" |
        gzip --no-name >"$folder/$name.tar.gz"
    rm -r "${folder:?}/$name"

    docker buildx build "${arguments[@]}" --provenance mode=max --metadata-file "$folder/metadata" \
        --label "org.opencontainers.image.version=$version" \
        --label "org.opencontainers.image.revision=$(git -C "$root" rev-parse HEAD)" \
        --output "type=image,name=$image,push-by-digest=true,name-canonical=true,push=true" "$root"
    digest=$(sed -n 's/.*"containerimage\.digest": *"\(sha256:[0-9a-f]*\)".*/\1/p' "$folder/metadata")
    rm "$folder/metadata"
    if [[ -z $digest ]]; then
        echo "docker named no digest of the image that it pushed" >&2
        return 1
    fi
    echo "$digest" >"$folder/$name.digest"
}

publish() {
    local version=$1 image=$2 folder=$3 file digest images=()
    for file in "$folder/sallyport-$version-linux-"{amd64,arm64}.digest; do
        images+=("$image@$(<"$file")")
    done
    docker buildx imagetools create --tag "$image:$version" "${images[@]}"
    digest=$(digest_of "$image:$version")
    cosign sign --yes --recursive "$image@$digest"
    for file in "$folder/sallyport-$version-linux-"{amd64,arm64}; do
        cosign attest --yes --type cyclonedx --predicate "$file.cdx.json" "$image@$(<"$file.digest")"
        rm "$file.digest"
    done
    (cd "$folder" && sha256sum -- *.tar.gz *.cdx.json >SHA256SUMS)
    cosign sign-blob --yes --bundle "$folder/SHA256SUMS.sigstore.json" "$folder/SHA256SUMS"
    echo "$image:$version is $digest"
}

if (($# != 4)) || [[ $1 != build && $1 != publish ]]; then
    sed -n '/^#   /s/^# *//p' "${BASH_SOURCE[0]}" >&2
    exit 64
fi
version=$(version_of "$2")
mkdir -p "$4"
# Names of images are in lower case, those of repositories need not be.
"$1" "$version" "${3,,}" "$(cd "$4" && pwd)"
