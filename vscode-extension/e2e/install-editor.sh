#!/usr/bin/env bash
# Installs a real VS Code with a server (npm's code-server) into DIR: install-editor.sh DIR VERSION
#
# Its packages come from the npm registry; of their native modules those that are needed are built from the sources in
# the packages, with the headers of the Node.js that is installed. A finished DIR is left alone.
set -euo pipefail
dir=$1 version=$2
[ "$(cat "$dir/.done" 2>/dev/null)" = "$version" ] && exit 0
node_home=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
export npm_config_nodedir=${npm_config_nodedir:-$node_home}
export npm_config_fund=false npm_config_audit=false npm_config_update_notifier=false npm_config_loglevel=error
gyp="$(npm root -g)/npm/node_modules/node-gyp/bin/node-gyp.js"

build() { # FOLDER MODULE: one native module, its log beside it
  (cd "$1/node_modules/$2" && node "$gyp" rebuild --nodedir="$npm_config_nodedir" >"$dir/$(basename "$2").log" 2>&1) ||
    { echo "building $2 failed: $dir/$(basename "$2").log" >&2; exit 1; }
}

rm -rf "$dir"
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
cd "$dir"
echo '{"private": true}' >package.json
npm install --ignore-scripts --omit=dev --save-exact "code-server@$version" >/dev/null
(cd node_modules/argon2 && "$dir/node_modules/.bin/node-pre-gyp" install --build-from-source \
  --nodedir="$npm_config_nodedir" >"$dir/argon2.log" 2>&1)

vscode="$dir/node_modules/code-server/lib/vscode"
(cd "$vscode" && npm ci --ignore-scripts --omit=dev --legacy-peer-deps >/dev/null)
for module in node-pty @vscode/spdlog native-watchdog; do build "$vscode" "$module"; done
# What the packages' own install scripts would link.
ln -sfn node_modules "$vscode/node_modules.asar"
ln -sfn code-linux.sh "$vscode/bin/remote-cli/code-server"
ln -sfn browser-linux.sh "$vscode/bin/helpers/browser.sh"
mkdir -p "$vscode/node_modules/@vscode/ripgrep/bin"
if command -v rg >/dev/null; then ln -sfn "$(command -v rg)" "$vscode/node_modules/@vscode/ripgrep/bin/rg"; fi
echo "$version" >"$dir/.done"
