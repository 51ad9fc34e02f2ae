#!/bin/sh
# Bring a store up to date every night, check it, and keep the backups of a week.
#
#     crontab -e
#     15 3 * * *  WEFT_STORE=/srv/weft /srv/weft/nightly.sh /srv/handbook /srv/notes >> /var/log/weft.log 2>&1
#
# Exits with the code of the first step that failed, so that cron or a timer of systemd reports it.
# A run that is killed leaves nothing half-written: the next one continues.
set -eu

: "${WEFT_STORE:?Set WEFT_STORE to the folder of the store, or to its postgresql:// address.}"
backups=${WEFT_BACKUPS:-$WEFT_STORE.backups}
keep=${WEFT_KEEP_BACKUPS:-7}
if [ $# -eq 0 ]; then
    echo "usage: nightly.sh PATH ... (the folders and files to index)" >&2
    exit 2
fi

date -u "+%Y-%m-%dT%H:%M:%SZ indexing $*"
weft index "$@"
weft doctor

case $WEFT_STORE in
postgres*)
    # A store on a server is backed up with its server's own tools.
    ;;
*)
    mkdir -p "$backups"
    weft backup "$backups/$(date -u +%Y%m%dT%H%M%SZ)"
    # Names are times: the newest come first, and all but the first few go.
    ls -1 "$backups" | sort -r | tail -n "+$((keep + 1))" | while read -r name; do
        rm -rf "${backups:?}/$name"
    done
    ;;
esac
date -u "+%Y-%m-%dT%H:%M:%SZ done"
